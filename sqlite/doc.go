// Package sqlite is an engine that keeps locks in a file, which any number of processes on one machine share. It needs
// no server and no C compiler.
//
// # What it promises
//
// Order: one counter in the file serves all names, so a later grant, of whatever name, has a larger token. The counter
// survives crashes and power loss: tokens are only issued up to a mark that was flushed to disk before, and after a
// restart of the machine the counter continues at the mark.
//
// Exclusion: every change is one transaction that locks the whole file. Leases expire by a clock that all processes of
// a machine share, that cannot be set, and that continues while the machine is suspended (CLOCK_BOOTTIME). On other
// systems than Linux, leases expire by the wall clock, and setting that clock forward ends them early.
//
// Waiters are served in the order in which they joined. A waiter whose process has died is skipped after about two
// seconds.
//
// # Which faults break what
//
//   - A process is killed, at any moment: nothing breaks. Its locks end with their leases.
//   - The machine is suspended: nothing breaks. Leases continue to expire.
//   - The machine crashes or loses power: all holders are gone with it. What is in the file gets its whole lease
//     again, since it is not known how long the machine was off. Some of the last changes may be lost, which matters
//     only for [driver.Release] with Keep. Tokens and the count of a latch are never lost.
//   - The disk acknowledges what it has not written: tokens may be issued twice after power loss.
//   - The file is restored from a backup: tokens go back, and so may be issued twice.
//   - The file is removed or replaced while it is in use: an engine that has it open notices before its next change
//     and refuses all further work. What it holds no longer excludes those who use the new file.
//   - The file is on a network file system: that is refused where it can be recognised, because the processes must
//     share the memory of one kernel. Containers may share a file if they share the kernel.
//   - A process opens and closes the file by other means while it has an [Engine] on it: on Unix that drops the locks
//     of this process on the file, and two transactions may then run at once. Copy or read the file from another
//     process.
//
// The file contains the owner secrets of holders and waiters. It is created for its user alone (mode 0600). A user that
// can read it, and not write it, can list what is held.
package sqlite
