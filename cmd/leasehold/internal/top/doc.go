// Package top is the live view of an engine on a terminal.
//
// A model holds what is known and what is shown. It takes in keys, time and answers of the engine, and says what to ask
// next. It starts nothing and draws nothing, so tests drive it without a terminal and at any speed. A frame, the
// content of the whole screen, is computed from the model alone. The loop of Run sends the requests, each in a
// goroutine of its own and at most one of each kind at a time, and paints the frames.
//
// A listing goes through all names of the engine, and keeps only the first ones in the order of the table, so memory is
// limited whatever the engine holds. The number of names and the time of a listing are limited, too; the screen says if
// something was not counted.
//
// The terminal is left to tcell: it has been maintained for more than ten years, needs half as many modules as Bubble
// Tea, puts every letter into a cell of its own, so that one of ambiguous width moves no others, and can be told to ask
// the terminal nothing, so that no late answer becomes input of the shell.
package top
