// Package admin shows and repairs what is on an engine, for operators and their tools: who holds which name and who
// waits for it, what was left behind, and whether the servers are healthy. Programs that only lock do not need it.
//
//	ops := admin.New(engine)
//	for s, err := range ops.All(ctx, admin.Query{Prefix: "order:"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(s.Name, s.Holders, s.Waiting)
//	}
//
// The engine is the one that programs lock on, opened in the same way: a [Client] works on it directly, and sees the
// locks of all programs. Most methods only read: [Client.List], [Client.All], [Client.Inspect], [Client.Leaks],
// [Client.Removals], [Client.Examine] and [Client.Votes]. Two change something: [Client.ForceRelease] takes a lock away
// from its holder, and [Client.Sweep] removes what was left behind.
//
// What an engine lacks is refused with leasehold.ErrUnsupported: docs/engines says what each can do.
//
// Errors are those of package leasehold. Each call may return leasehold.ErrUnavailable if the engine does not answer
// within the request timeout or answers with an error, leasehold.ErrInvalid for an argument that is not allowed, or an
// error of its context. Further errors are named where they can occur.
//
// Command leasehold offers the same on a command line.
package admin
