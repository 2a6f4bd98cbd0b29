// Package sqlite is an engine that keeps locks in a file, which any number of
// processes on one machine share. It needs no server and no C compiler.
//
// # What it promises
//
// Order: one counter in the file serves all names, so a later grant, of whatever
// name, has a larger token. The counter survives crashes and power loss: tokens
// are only given out below a mark that was flushed to disk before, and after the
// machine has started anew the counter continues at the mark.
//
// Exclusion: every change is one transaction that has the file to itself. Leases end by a
// clock that all processes of a machine share, that nobody can set, and that goes on while the
// machine is suspended (CLOCK_BOOTTIME). Elsewhere than on Linux leases end by the wall clock,
// and setting that clock forward ends them early.
//
// Waiters are served in the order in which they joined. One that dies is passed
// over after about two seconds.
//
// # Which faults break what
//
//   - A process is killed, at any moment: nothing breaks. Its locks end with their leases.
//   - The machine is suspended: nothing breaks. Leases go on ending.
//   - The machine crashes or loses power: all holders are gone with it. What stands in the
//     file gets its whole lease again, since nobody knows how long the machine was off. Of
//     the changes of the last moments some may be lost, which matters for [driver.Release]
//     with Keep only; never tokens, and never the count of a latch.
//   - The disk acknowledges what it has not written: tokens may be given out twice after
//     power loss.
//   - The file is restored from a backup: tokens go back, and so may be given out twice.
//   - The file is removed or replaced while it is in use: an engine that has it open notices
//     before its next change and refuses all further work. What it holds no longer
//     excludes those who use the new file.
//   - The file lies on a network file system: refused where it can be recognised, because
//     the processes must share the memory of one kernel. Containers may share a file if they
//     share the kernel.
//   - A process opens and closes the file by other means while it has an [Engine] on it:
//     on Unix that drops the locks of this process on the file, and two transactions may
//     then run at once. Copy or read the file from another process.
//
// The file holds the owner secrets of those who hold and wait. It is created for
// its user alone (mode 0600); whoever can read it, and not write it, can list what is held.
package sqlite
