package sqlite

const (
	// sweepEvery is after how many tokens the file is swept. What can be left behind
	// costs a token each, so sweeping keeps up with it.
	sweepEvery = 64
	// sweepMost is how much of each sort is removed at a time, so that a sweep stays short.
	sweepMost = 4 * sweepEvery
)

// sweep removes what has expired and what nobody has looked at since.
func sweep(v *view) error {
	for _, query := range []string{
		`DELETE FROM holders WHERE (kind, name, token) IN
			(SELECT kind, name, token FROM holders WHERE expires <= ?1 ORDER BY expires LIMIT ?2)`,
		`DELETE FROM waiters WHERE seq IN
			(SELECT seq FROM waiters WHERE alive_until <= ?1 LIMIT ?2)`,
		`DELETE FROM latch_downs WHERE name IN
			(SELECT name FROM latches WHERE expires <= ?1 ORDER BY expires LIMIT ?2)`,
		`DELETE FROM latches WHERE name IN
			(SELECT name FROM latches WHERE expires <= ?1 ORDER BY expires LIMIT ?2)`,
	} {
		if _, err := v.exec(query, v.now, sweepMost); err != nil {
			return err
		}
	}
	return nil
}
