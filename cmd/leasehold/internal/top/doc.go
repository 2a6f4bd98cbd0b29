// Package top is the live view of an engine on a terminal.
//
// What is known and shown is a model, which learns of keys, of time and of what looks have found, and says what to look for next. It starts nothing and
// draws nothing, so tests drive it without a terminal, at any time they like. A frame, the picture of the whole screen, is made from the model alone. The
// loop of Run has the looks done, each in a goroutine of its own and at most one of each sort at a time, and paints frames.
//
// A look goes through all names of the engine, and keeps only the first of them in the order of the table: memory has a limit, whatever the
// engine holds. There is a limit to how many names a look goes through and to how long it takes, too; what is not counted is said on the screen.
//
// The terminal is the business of tcell: it has been kept up for more than ten years, needs half as many modules as
// Bubble Tea, places every letter in a cell of its own, so that one of doubtful width moves no others, and can be told to ask the terminal nothing, so that
// no late answer turns up as input of the shell.
package top
