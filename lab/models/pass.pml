/*
 * How a holder passes a name to the first waiter, without a moment in which it is free: docs/decisions/0085.
 *
 * fence.pml says how to read Promela, and checks the takes. This model checks one pass among three nodes, of which node
 * 0 is the arbiter, while other clients take the name. It is not about the Go code.
 *
 * The steps
 *
 *   Holder   has been released, and has all nodes but the arbiter pass the name to a new owner. When enough of them
 *            have said so, the arbiter is asked, which tells the waiter. If the arbiter refuses, or too few have passed
 *            it, the new owner is released. If the arbiter does not answer, the holder is released there, and the new
 *            owner only if that has said that the holder still held.
 *   Waiter   has joined before. When it is told, it holds as the new owner. Or it has given up, and releases that.
 *   Client   takes the name on a majority, as in fence.pml but without raising counters, and releases it.
 *   Node     a request arrives at any later time, a key expires, the node restarts with older data and has no vote.
 *
 * Any request or answer may be late for any time, or lost: the holder goes on without it at any step. Any key of the
 * holder may expire. It has been released, so that looks like a release which arrives.
 *
 * What is checked: at most one believes that it holds; each token is larger than all that were exposed before its
 * client began, and none is exposed twice. Clocks are trusted with this: keys of the new owner expire only when its
 * lease is over, counted from before the first pass, and the waiter can tell that. For the rest see fence.pml.
 *
 * Mutants: with each of these switches an assert() must fail.
 *
 *   TOOFEW    the arbiter is asked although no other node has passed the name
 *   UNSURE    the new owner is released although the arbiter has not answered
 *   RESTORED  what an arbiter without a vote says of the holder counts
 *   AGED      the lease counts from when the waiter is told
 *   ANYTOKEN  nodes pass the name although they have granted its token, or a larger one
 *
 * PROBE=n: a step that must be reached. 1 the waiter holds, 2 a pass arrives when the waiter has released, 3 the new
 * owner is released as the arbiter has said that the holder held, 4 a waiter that has given up is told, 5 a client
 * holds after the waiter.
 */
#ifndef PROBE
#define PROBE 0
#endif
#ifndef CLIENTS
#define CLIENTS 1
#endif
#ifndef FLOORS
#define FLOORS 2
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#define reached(n) assert(n != PROBE)

#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)
#define WITH(set, i) ((set) | BIT(i))
#define WITHOUT(set, i) ((set) & ~BIT(i))
#define SIZE(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2))
#define ALL 7
#define MAJORITY 2
#ifdef TOOFEW
#define ENOUGH 0
#else
#define ENOUGH (MAJORITY - 1)
#endif

/* Owners: HOLDER and NEW of the pass, and clients from 3 on. */
#define HOLDER 1
#define NEW 2

/* On the nodes. */
byte owner[3] = HOLDER;
byte counter[3] = 1;
byte quarantined, restarts;

/* In flight, as sets of nodes. */
byte passing, releasing; /* releases are those of the new owner */
bool handing;

/* Of the pass. */
byte token;
byte told;         /* nodes of which the holder knows that they have passed the name */
byte answer;       /* of the arbiter: 0 none, 1 passed, 2 refused */
bool message;      /* to the waiter */
bool over;         /* the lease of the new owner */
bool waiterDone;

/* For the asserts. */
byte newest = 1;
int used = 2;
byte holder;

#define VOTES(i) (!HAS(quarantined, i))
#ifdef ANYTOKEN
#define FRESH(i) true
#else
#define FRESH(i) (counter[i] < token)
#endif

inline expose(me, m, before) {
	assert(m > before);
	assert(!HAS(used, m));
	assert(holder == 0);
	holder = me;
	used = WITH(used, m);
	newest = (m > newest -> m : newest)
}

inline grant(i) {
	owner[i] = NEW;
	counter[i] = (token > counter[i] -> token : counter[i])
}

proctype Holder() {
	bool held;
	atomic {
		if
		:: token = 2
#if FLOORS > 1
		:: token = 4
#endif
		fi;
		passing = WITHOUT(ALL, 0)
	}
	if
	:: SIZE(told) >= ENOUGH -> handing = true
	:: true -> goto back
	fi;
	if
	:: answer == 1 -> goto done
	:: answer == 2 -> goto back
	:: true /* no answer, or not yet */
	fi;
#ifdef UNSURE
	goto back;
#endif
	atomic {
		held = (owner[0] == HOLDER);
		owner[0] = (held -> 0 : owner[0]);
#ifndef RESTORED
		held = held && VOTES(0);
#endif
		if :: held -> reached(3); releasing = ALL :: true fi /* or that has no answer */
	};
	goto done;
back:
	releasing = ALL;
done:
	skip
}

proctype Waiter() {
	bool gaveUp;
	if :: gaveUp = false :: gaveUp = true fi;
end:
	message;
	atomic {
		if
#ifdef AGED
		:: !gaveUp ->
#else
		:: !gaveUp && !over ->
#endif
			reached(1); expose(NEW, token, 1)
		:: else -> if :: gaveUp -> reached(4) :: else fi
		fi
	};
	atomic { holder = (holder == NEW -> 0 : holder); waiterDone = true; releasing = ALL }
}

inline take(i) {
	todo = WITHOUT(todo, i);
	if
	:: VOTES(i) && owner[i] == 0 ->
		owner[i] = me;
		counter[i] = (counter[i] + 1 > floor -> counter[i] + 1 : floor);
		stands = (counter[i] > m -> BIT(i) : (counter[i] == m -> WITH(stands, i) : stands));
		m = (counter[i] > m -> counter[i] : m)
	:: true
	fi
}

proctype Client(byte me) {
	byte todo, m, stands, floor, before, i;
	atomic { before = newest; todo = ALL; if :: floor = 0 :: floor = 3 fi }; /* by its clock */
	do
	:: atomic { HAS(todo, 0) -> take(0) }
	:: atomic { HAS(todo, 1) -> take(1) }
	:: atomic { HAS(todo, 2) -> take(2) }
	:: todo == 0 -> break
	od;
	if
	:: atomic { SIZE(stands) >= MAJORITY ->
		if :: waiterDone -> reached(5) :: else fi;
		expose(me, m, before) };
		holder = 0
	:: else
	fi;
	do
	:: atomic { i < 3 -> owner[i] = (owner[i] == me -> 0 : owner[i]); i++ }
	:: else -> break
	od
}

proctype Node(byte i) {
end:	do
	:: atomic { HAS(passing, i) -> passing = WITHOUT(passing, i);
		if
		:: VOTES(i) && (owner[i] == HOLDER || owner[i] == 0) && FRESH(i) ->
			if :: waiterDone -> reached(2) :: else fi;
			grant(i);
			if :: told = WITH(told, i) :: true fi
		:: else
		fi }
	:: atomic { i == 0 && handing -> handing = false;
		if
		:: VOTES(i) && owner[i] == HOLDER && FRESH(i) -> grant(i); message = true; if :: answer = 1 :: true fi
		:: else -> if :: answer = 2 :: true fi
		fi }
	:: atomic { HAS(releasing, i) -> releasing = WITHOUT(releasing, i);
		owner[i] = (owner[i] == NEW -> 0 : owner[i]) }
	:: atomic { owner[i] == HOLDER && token != 0 -> owner[i] = 0 }
	:: atomic { owner[i] == NEW && over && holder != NEW -> owner[i] = 0 }
	:: atomic { i == 0 && !over && holder != NEW && token != 0 -> over = true }
	/* Until its quarantine ends, all that is in this model is over. */
	:: atomic { restarts < RESTARTS && token != 0 -> restarts++; quarantined = WITH(quarantined, i);
		if :: owner[i] = 0 :: owner[i] = HOLDER fi }
	od
}

init {
	atomic {
		run Node(0); run Node(1); run Node(2);
		run Holder(); run Waiter(); run Client(3);
#if CLIENTS > 1
		run Client(4)
#endif
	}
}
