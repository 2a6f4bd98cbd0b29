package sqlite

const (
	// sweepEvery is the number of tokens between two sweeps of the file. Everything that can be left behind has taken a
	// token, so that sweeps keep up.
	sweepEvery = 64
	// maxSweepRows is how many rows of each table are removed at a time, so that a sweep stays short.
	maxSweepRows = 4 * sweepEvery
)

// removeExpiredRows removes rows that have expired and that nobody has read since.
func removeExpiredRows(v *view) error {
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
		if _, err := v.exec(query, v.now, maxSweepRows); err != nil {
			return err
		}
	}
	return nil
}
