/*
 * How a client keeps a lock after its release, and lets go of it when another client asks: Linger and recall.
 *
 * fence.pml says how to read Promela. This model checks docs/decisions/0084 for one name on one engine, not the Go code.
 *
 * The steps
 *
 *   Client A   takes the lock with a range of tokens, and lends it to one caller after the other: use, park, find (a
 *              caller takes the parked hold out of the local queue), then reuse it or give it back. It lets go when it
 *              is recalled, when it has lingered, or at its deadline. Each take is a new hold, with an owner of its own.
 *   Client B   wants the lock, too: it waits, and recalls it. A recall may be lost, come twice, or come at any later
 *              time, to any later hold of A.
 *   Server     grants what is free; ends a lease once its holder can no longer rely on it. A release may arrive at any
 *              later time.
 *
 * Each step is what the client does under a mutex, or the server in a script. Steps of all run in any order.
 *
 * What is checked
 *
 *   Exclusion  at most one caller uses the lock and relies on it. At the deadline a caller stops, as it is told.
 *   Order      each use has a larger token than all uses before it.
 *   Both clients come to an end in every order of steps: B is not kept out, even if all recalls are lost.
 *
 * Clocks are trusted with one thing: the server does not end a lease before its holder's deadline.
 *
 * Sizes: HOLDS of A, USES in all, RANGE tokens of a hold, TURNS of B, RECALLS delivered.
 *
 * Mutants: with each of these switches an assert() must fail.
 *
 *   INUSE      a recall also releases a lock that is in use
 *   UNCHECKED  an idle hold is used again although its deadline has passed
 *   TWICE      a hold is let go although a caller has taken it out of the local queue
 *   NARROW     the server reserves one token, whatever was asked for
 *   SAME       the next use has the same token
 *
 * PROBE=n: a step that must be reached. 1 reuse, 2 recall of an idle hold, 3 recall in use, 4 deadline of an idle hold,
 * 5 a caller finds a hold that has ended, 6 a late release.
 */
#ifndef HOLDS
#define HOLDS 3
#endif
#ifndef USES
#define USES 5
#endif
#ifndef RANGE
#define RANGE 3
#endif
#ifndef TURNS
#define TURNS 2
#endif
#ifndef RECALLS
#define RECALLS 3
#endif
#ifndef PROBE
#define PROBE 0
#endif
#define reached(n) assert(n != PROBE)

/* The server: whose hold it is (0 nobody, 100 B, else the number of A's hold), and the last token. */
byte owner, last;

/* What is believed: how many use the lock, and the largest token used. */
byte users, highest;

/* The hold of A. */
mtype = { none, held, idle, leaving };
mtype phase = none;
byte hold;          /* its number */
byte token, spare;
bool valid;         /* its deadline has not passed */
bool parked;        /* in the local queue */
bool found;         /* a caller has taken it out of there */
bool recalled;
byte uses;

/* Releases of A in flight: bit n is that of hold n. */
byte releases;

bool wanted;        /* B waits, and has sent a recall */
byte recalls;       /* delivered */

inline enter(t) {
	assert(users == 0);
	assert(t > highest);
	users++;
	highest = t
}

inline letgo() {
	phase = leaving;
	releases = releases | (1 << hold)
}

proctype A() {
	do
	/* take */
	:: atomic { phase == none && !found && hold < HOLDS && uses < USES && owner == 0 ->
		hold++;
		owner = hold;
		token = last + 1;
#ifdef NARROW
		last = last + 1;
#else
		last = last + RANGE;
#endif
		spare = RANGE - 1;
		valid = true;
		recalled = false;
		uses++;
		phase = held;
		enter(token) }
	/* the caller releases: the hold lingers, or is released */
	:: atomic { phase == held && !recalled ->
		users--;
		phase = idle;
		parked = true }
	:: atomic { phase == held ->
		users--;
		letgo() }
	/* a caller takes the parked hold out of the local queue */
	:: atomic { parked && uses < USES -> parked = false; found = true }
	/* that caller uses it, or lets go of it */
	:: atomic { found ->
		found = false;
		if
#ifdef UNCHECKED
		:: phase == idle && spare > 0 ->
#else
		:: phase == idle && spare > 0 && valid && !recalled ->
#endif
			reached(1);
			spare--;
#ifndef SAME
			token++;
#endif
			uses++;
			phase = held;
			enter(token)
#ifdef TWICE
		:: phase == leaving && spare > 0 && valid ->
			spare--; token++; uses++;
			enter(token);
			phase = held
#endif
		:: phase == idle -> letgo()
		:: else -> reached(5)
		fi }
	/* it has lingered */
#ifdef TWICE
	:: atomic { phase == idle -> letgo() }
#else
	:: atomic { phase == idle && parked -> parked = false; letgo() }
#endif
	/* a recall arrives */
	:: atomic { wanted && recalls < RECALLS ->
		recalls++;
		recalled = true;
		if
		:: phase == idle && parked -> reached(2); parked = false; letgo()
#ifdef INUSE
		:: phase == held -> letgo(); phase = held
#endif
		:: else -> reached(3)
		fi }
	/* the deadline passes: a caller that uses the lock is told */
	:: atomic { valid ->
		valid = false;
		if
		:: phase == held -> users--; letgo()
#ifdef UNCHECKED
		:: else
#else
		:: phase == idle -> reached(4); parked = false; letgo()
		:: else
#endif
		fi }
	/* the release has been sent; it may arrive at any time from now on */
	:: atomic { phase == leaving && !found -> phase = none }
	:: phase == none && !found && (hold == HOLDS || uses == USES) -> break
	od
}

proctype Server() {
	byte n;
end:	do
	/* a release of A arrives */
	:: atomic { releases != 0 ->
		select(n : 1 .. HOLDS);
		if
		:: releases & (1 << n) ->
			releases = releases & ~(1 << n);
			if
			:: owner == n -> owner = 0
			:: else -> reached(6)
			fi
		:: else
		fi }
	/* a lease ends */
	:: atomic { owner != 0 && owner != 100 && (owner != hold || !valid) -> owner = 0 }
	od
}

proctype B() {
	byte turns;
	do
	:: turns == TURNS -> break
	:: atomic { turns < TURNS && owner != 0 && owner != 100 -> wanted = true }
	:: atomic { turns < TURNS && owner == 0 ->
		wanted = false;
		owner = 100;
		last++;
		enter(last) };
		atomic { users--; owner = 0; turns++ }
	od
}

init {
	atomic { run A(); run B(); run Server() }
}
