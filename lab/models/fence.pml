/*
 * How a majority of independent nodes grants a lock, with tokens that only grow.
 *
 * This is a model in Promela, the language of the checker Spin (https://spinroot.com). Spin does not run it once: it
 * goes through every order in which the steps below can happen, and reports the first in which an assert() fails, with
 * the steps that led there. It checks the protocol of docs/decisions/0020 for one name, not the Go code.
 *
 * Reading Promela
 *
 *   proctype      a process. All processes run at once, in any interleaving: each may be slow, or stop, for any time.
 *   a -> b        wait until a is true, then do b. A bare condition is a statement: it waits.
 *   if :: a -> x :: b -> y fi
 *                 do the branch whose guard is true. If several are, Spin tries each of them: so this means "may".
 *                 ":: true" is a branch that may always be taken. ":: else" is taken only when no other can be.
 *   do ... od     the same, again and again, until a break.
 *   atomic { }    one step, with nothing in between. A script on one Redis node is one such step.
 *   inline f(i)   a macro: its text replaces each call.
 *   assert(x)     x must be true whenever the step is reached.
 *
 * The steps
 *
 *   Client: begin, take (on one node after the other, in any order), decide, raise (if needed), expose, renew, release.
 *   Node:   a key expires, a late request arrives, the node restarts, its quarantine ends.
 *
 * A client is one call that wants the lock. It has BALLOTS: when one has failed and its releases are sent, it may take
 * again, as a new owner. A process that calls three times, and waits for each release, is three clients.
 *
 * What is checked, in three ways that differ in what they assume
 *
 *   (nothing)  Order. No clock is assumed at all: any key may expire at any step, even while its client is at work, and
 *              any clock that a client sends as the floor may be wrong. Requests and answers may be lost. Each token is
 *              larger than all that were exposed before its client began, and none is exposed twice.
 *              To everybody else, releasing a key looks as if it expired, so there is no step for a release here.
 *   -DTIMELY   Exclusion, too: at most one client believes that it holds. Nobody can promise that without a clock, so
 *              the clocks are trusted with this: a key that a lease relies on does not expire before the lease ends. In
 *              docs/decisions/0020 that is "ttl - drift, from before the first request".
 *              That no two clients have the keys of a majority at the same moment needs no check: a key has one value,
 *              and two majorities have a node in common. What matters is what clients believe: holder says it.
 *   -DNOLEFTOVERS
 *              Nothing is left behind: where no key expires and no request is lost, no key is left once all clients are
 *              done. In the other ways a key that is left is not wrong, since it might still expire. So the model can
 *              show a forgotten key only where keys do not expire.
 *
 * A restart takes the keys and the counters of a node. The node has no vote until the takes and leases from before
 * have ended (quarantine; in docs/redlock.md that is MaxTTL), and its counters go on from a floor. For how large that
 * floor is in the model, see owed. Both ways of checking rely on clocks for that: on their rates for the quarantine,
 * and on their readings for the floor.
 *
 * Sizes: N nodes, CLIENTS, RESTARTS, LATE and REPEATS in all, FLOORS different clocks, BALLOTS of a client. STALLED
 * releases in all are in flight for any time. To have fewer states, -DONCE leaves out renewals, only the first AGAIN
 * clients take again, and with -DLOST=n no more than n takes are lost, and no release.
 *
 * Mutants: each of these switches breaks the protocol, and an assert() must fail.
 *
 *   UNCOND        raises counters on nodes where the key is no longer the client's
 *   LOOSE         counts a raise although the counter is above the token
 *   ABOVE         counts a node that grants more than m after m was decided
 *   SKIPWB        does not raise at all: exposes the largest value, however few nodes stand at it
 *   HALF          takes half of the nodes for a majority
 *   AMNESIA       a restarted node votes at once, with counters from zero
 *   NOQUARANTINE  a restarted node votes at once, with counters from the floor
 *   NOFLOOR       a restarted node counts from zero after its quarantine: a missing counter taken for zero
 *   WEAKRENEW     a renewal counts if any node has confirmed it, not a majority
 *   PLAINDEL      a release deletes the key, whoever has it
 *   STRAY         a release does not wait for requests that are still in flight
 *   SAMEOWNER     all ballots of a client have one owner
 *
 * Where nothing happens, nothing goes wrong. So -DPROBE=n lets an assert() fail where something happens that must be
 * possible:
 *
 *   1 a raise completes the majority         4 a late take is granted
 *   2 a second token is exposed              5 a renewal counts although a node has restarted since the last one
 *   3 a node votes again that owes a token   6 a key is released
 *   7 a release arrives when a later ballot of the same client has won
 */

#ifndef N
#define N 3
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef LATE
#define LATE 0 /* how many takes, in all, arrive after their client has given up */
#endif
#ifndef REPEATS
#define REPEATS 0 /* how many takes, in all, arrive a second time */
#endif
#ifndef FLOORS
#define FLOORS 2
#endif
#ifndef BALLOTS
#define BALLOTS 1
#endif
#ifndef AGAIN
#define AGAIN CLIENTS
#endif
#ifndef STALLED
#define STALLED 0 /* how many releases, in all, are in flight for any time */
#endif

/* The owners of client c are c in its first ballot, c + CLIENTS in the second, and so on. */
#ifdef SAMEOWNER
#define OWNER(c, ballot) (c)
#else
#define OWNER(c, ballot) ((c) + CLIENTS * (ballot))
#endif
#define CLIENT(o) ((((o) - 1) % CLIENTS) + 1)
#define OWNERS (CLIENTS * BALLOTS)

/* A set of nodes, or of clients, is a number: bit i says whether i is in it. */
#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)
#define WITH(set, i) ((set) | BIT(i))
#define WITHOUT(set, i) ((set) & ~BIT(i))
#define SIZE(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2) + HAS(set, 3) + HAS(set, 4))
#define ALL ((1 << N) - 1)

#ifdef HALF
#define MAJORITY (N / 2)
#else
#define MAJORITY (N / 2 + 1)
#endif

#ifdef PROBE
#define POSSIBLE(n) assert(PROBE != n)
#else
#define POSSIBLE(n) skip
#endif

/* Of a client: the nodes that count for its token, and those that it must raise. */
#ifdef SKIPWB
#define COUNTED (stands | below)
#define LAGGING 0
#else
#define COUNTED stands
#define LAGGING below
#endif

#define LARGER(a, b) ((a) > (b) -> (a) : (b))

/* Picks any node of a set that is not empty, and does a step there. */
#if N > 2
#define NODE2(set, step) :: HAS(set, 2) -> step(2)
#else
#define NODE2(set, step)
#endif
#if N > 3
#define NODE3(set, step) :: HAS(set, 3) -> step(3)
#else
#define NODE3(set, step)
#endif
#if N > 4
#define NODE4(set, step) :: HAS(set, 4) -> step(4)
#else
#define NODE4(set, step)
#endif
#define ON_ANY_OF(set, step) \
	if :: HAS(set, 0) -> step(0) :: HAS(set, 1) -> step(1) NODE2(set, step) NODE3(set, step) NODE4(set, step) fi

/* On the nodes. */
byte owner[N];     /* who has the key; 0 if nobody has it */
byte counter[N];   /* the last token that the node has granted */
byte quarantined;  /* nodes without a vote */
byte restarts;

/* The smallest floor that a node can rely on after its quarantine: the largest token of which it was in the majority,
   so that its counter was needed. That token was not above the counter that was lost, and a counter is not above the
   clocks of clients at that time. So a clock that is read after the quarantine is larger, unless it is behind the
   others by more than the quarantine lasts. */
byte owed[N];

/* Of the clients, by their number from 1. */
byte floor[CLIENTS + 1];  /* the clock that it sends along: no counter stays below it */
byte asks[CLIENTS + 1];   /* as which owner it takes */
byte busy;                /* clients between begin and the end of their lease */
byte behind[CLIENTS + 1]; /* nodes that restarted since its take or last renewal began: quarantined until it ends */
byte behindNow[CLIENTS + 1]; /* the same when the renewal in flight began */
byte relies[CLIENTS + 1]; /* nodes where its key outlasts its lease, unless the node restarts */
byte begun;
byte finished;

/* Of the owners, by their number from 1. */
byte late[OWNERS + 1];    /* nodes where a take may still arrive */
byte stalled[OWNERS + 1]; /* nodes where a release may still arrive */
#ifdef LOST
byte lost;                /* how many takes were lost */
#endif
byte stalls;              /* how many of STALLED are used up */

byte unanswered;          /* how many of LATE and REPEATS are used up */

/* For the asserts. */
byte newest; /* the largest token exposed so far */
int used;    /* the set of all tokens exposed so far */
byte holder; /* who believes that it holds */

#define VOTES(i) (!HAS(quarantined, i))
#define GRANTS(i, o) (VOTES(i) && (owner[i] == 0 || owner[i] == o))

/* A request may have no effect because it is refused, or for any reason if messages may be lost. */
#if defined(NOLEFTOVERS) || defined(LOST)
#define LOSES(refused) refused
#else
#define LOSES(refused) true
#endif

/* The script of a take, on node i for owner o. An owner that has the key already gets the same answer again. */
inline grant(i, o) {
	if
	:: owner[i] == 0 -> owner[i] = o; counter[i] = LARGER(counter[i] + 1, floor[CLIENT(o)])
	:: else
	fi
}

/* Take on node i, and what the client makes of the answer: m is the largest token so far, stands are the nodes that
   have granted it, below are those that have granted less. Once m is decided, a node that grants more is of no use: it
   may have granted m to somebody else before. */
inline take(i) {
	todo = WITHOUT(todo, i);
	if
	:: GRANTS(i, mine) ->
		grant(i, mine);
		if
		:: counter[i] > m && !decided -> below = below | stands; stands = BIT(i); m = counter[i]
#ifdef ABOVE
		:: counter[i] > m && decided -> stands = WITH(stands, i)
#else
		:: counter[i] > m && decided
#endif
		:: counter[i] == m -> stands = WITH(stands, i)
		:: counter[i] < m -> below = WITH(below, i)
		fi;
		if
		:: unanswered < REPEATS -> unanswered++; late[mine] = WITH(late[mine], i)
		:: true
		fi
	:: LOSES(!GRANTS(i, mine)) /* refused; or lost on the way */
#ifdef LOST
	:: lost < LOST -> lost++
#endif
	:: unanswered < LATE -> unanswered++; late[mine] = WITH(late[mine], i) /* may arrive later, without an answer */
	fi
}

/* Raise the counter of node i to m, only where the key is still ours, and count the node only if it then stands at m.
   If it stands above, the key has been somebody else's meanwhile, and that client may have been granted m here.
   A late raise needs no step of its own: while the key is ours nobody else changes the node, so it is as if the raise
   had arrived in time and its answer had been lost. */
inline raise(i) {
	below = WITHOUT(below, i);
	if
#if defined(UNCOND)
	:: counter[i] = LARGER(counter[i], m); stands = WITH(stands, i)
#elif defined(LOOSE)
	:: owner[i] == mine -> counter[i] = LARGER(counter[i], m); stands = WITH(stands, i)
#else
	:: owner[i] == mine && counter[i] <= m -> counter[i] = m; stands = WITH(stands, i);
		if :: SIZE(stands) == MAJORITY -> POSSIBLE(1) :: else fi
#endif
	:: owner[i] == mine && counter[i] <= m -> counter[i] = m /* the answer is lost */
	:: true                                                /* the request is lost, or refused */
	fi
}

/* Renew on node i. */
inline renew(i) {
	todo = WITHOUT(todo, i);
	if
	:: owner[i] == mine -> confirmed = WITH(confirmed, i); relies[me] = WITH(relies[me], i)
	:: true /* no, or no answer */
	fi
}

/* Release on node i: compare and delete. */
inline release(i) {
	todo = WITHOUT(todo, i);
	if
#ifdef PLAINDEL
	:: owner[i] = 0
#else
	:: owner[i] == mine -> POSSIBLE(6); owner[i] = 0
#endif
	:: LOSES(owner[i] != mine)
	:: stalls < STALLED -> stalls++; stalled[mine] = WITH(stalled[mine], i)
	fi
}

/* From here on the client neither wants nor has the lock. */
inline over() {
	busy = WITHOUT(busy, me);
	behind[me] = 0;
	relies[me] = 0;
	if :: holder == me -> holder = 0 :: else fi;
	m = 0; stands = 0; below = 0; before = 0; decided = false /* not used any more: fewer states for Spin */
}

/* Where a release may be sent. If nothing may be left behind, only where no take of ours can arrive any more. */
#if defined(NOLEFTOVERS) && !defined(STRAY)
#define SETTLED (~late[mine])
#else
#define SETTLED ALL
#endif

proctype Client(byte me) {
	byte todo, m, stands, below, before, confirmed, i, mine;
	bool decided;
#if BALLOTS > 1
	byte ballot;
	bool won;
#endif

	/* Begin. All clients are alike, so they are numbered in the order in which they begin. */
	atomic {
		begun == me - 1 -> begun++;
		if
		:: floor[me] = 0
#if FLOORS > 1
		:: floor[me] = 3
#endif
#if FLOORS > 2
		:: floor[me] = 2
#endif
		fi;
		mine = OWNER(me, 0); asks[me] = mine;
		before = newest; busy = WITH(busy, me); relies[me] = ALL; todo = ALL
	}

take_all:
	do
	/* Take on all nodes, in any order. */
	:: atomic { todo != 0 -> ON_ANY_OF(todo, take) }

	/* Decide that m is the token, as soon as a majority has granted the name, or later. */
	:: atomic { !decided && SIZE(stands | below) >= MAJORITY -> decided = true }

	/* Raise the others to m, in any order, also those that grant after the decision. */
	:: atomic { decided && LAGGING != 0 -> ON_ANY_OF(LAGGING, raise) }

	/* All requests are answered, or given up. To wait here for those that are given up changes nothing. */
	:: atomic { todo == 0 && !decided && SIZE(stands | below) < MAJORITY -> over(); goto clean_up }
	:: atomic { todo == 0 && decided && LAGGING == 0 && SIZE(COUNTED) < MAJORITY -> over(); goto clean_up }
	:: todo == 0 && decided && LAGGING == 0 && SIZE(COUNTED) >= MAJORITY -> break
	od;

	/* Expose the token. */
	atomic {
		assert(m > before);
		assert(!HAS(used, m));
		if :: newest != 0 -> POSSIBLE(2) :: else fi;
		used = WITH(used, m);
		newest = LARGER(newest, m);
		i = 0;
		do
		:: i < N && RESTARTS > 0 -> owed[i] = (HAS(stands, i) -> LARGER(owed[i], m) : owed[i]); i++
		:: else -> break
		od;
		i = 0;
#ifdef TIMELY
		assert(holder == 0);
		holder = me;
#if BALLOTS > 1
		won = true;
#endif
		m = 0; stands = 0; below = 0; before = 0; decided = false
#else
		over() /* nothing depends on how long the lease lasts */
#endif
	}

#ifdef TIMELY
	/* Hold, and renew any number of times. A renewal counts from when it began, if a majority confirms it. Otherwise
	   the lease goes on as it was, until its deadline, which may come at any time. */
	do
#ifndef ONCE
	:: atomic { todo = ALL; confirmed = 0; behindNow[me] = behind[me] };
		do
		:: atomic { todo != 0 -> ON_ANY_OF(todo, renew) }
		:: todo == 0 -> break
		od;
		atomic {
			if
#ifdef WEAKRENEW
			:: confirmed != 0
#else
			:: SIZE(confirmed) >= MAJORITY
#endif
				-> if :: behindNow[me] != 0 -> POSSIBLE(5) :: else fi;
				behind[me] = behind[me] & ~behindNow[me]; relies[me] = confirmed
			:: else
			fi;
			behindNow[me] = 0; confirmed = 0
		}
#endif
	:: atomic { true -> over(); break }
	od;
#endif

clean_up:
#if defined(TIMELY) || defined(NOLEFTOVERS)
	/* Release on all nodes, in any order, after a lease or a failure. Others go on meanwhile, so a release may be
	   late. */
	todo = ALL;
	do
	:: atomic { (todo & SETTLED) != 0 -> ON_ANY_OF(todo & SETTLED, release) }
	:: todo == 0 -> break
	od;
#if BALLOTS > 1
	/* A client that has failed may take again. Requests of its last ballot may still be in flight. */
	if
	:: atomic { !won && ballot + 1 < BALLOTS && me <= AGAIN ->
		ballot++; mine = OWNER(me, ballot); asks[me] = mine;
		before = newest; busy = WITH(busy, me); relies[me] = ALL; todo = ALL };
		goto take_all
	:: true
	fi;
#endif
	finished++
#else
	skip
#endif
}

#if defined(NOLEFTOVERS)
#define EXPIRES(i) false
#elif defined(TIMELY)
#define HOLDER(i) CLIENT(owner[i])
#define EXPIRES(i) \
	(owner[i] != 0 && !(owner[i] == asks[HOLDER(i)] && HAS(busy, HOLDER(i)) && HAS(relies[HOLDER(i)], i)))
#else
#define EXPIRES(i) (owner[i] != 0)
#endif

/* A late request that would be refused need not arrive, unless somebody waits until it has ended. */
#ifdef NOLEFTOVERS
#define ARRIVES(i, o) HAS(late[o], i)
#else
#define ARRIVES(i, o) (HAS(late[o], i) && GRANTS(i, o))
#endif

/* A take of owner o arrives at node i after its client has given up. */
inline arrive(i, o) {
	late[o] = WITHOUT(late[o], i);
	if
	:: GRANTS(i, o) -> POSSIBLE(4); grant(i, o)
	:: else
	fi
}

/* A release of owner o arrives at node i after any time. */
inline arrive_at_last(i, o) {
	stalled[o] = WITHOUT(stalled[o], i);
	if :: holder == CLIENT(o) -> POSSIBLE(7) :: else fi;
	owner[i] = (owner[i] == o -> 0 : owner[i])
}

#if CLIENTS > 2
#define OF_ALL(array) (array[1] | array[2] | array[3])
#else
#define OF_ALL(array) (array[1] | array[2])
#endif

/* What happens at a node by itself. */
proctype Node(byte i) {
	byte c;

	/* A process may stop at a label that begins with "end" without Spin calling it a deadlock. */
end:	do
	:: atomic { EXPIRES(i) -> owner[i] = 0 }

	:: atomic { ARRIVES(i, 1) -> arrive(i, 1) }
	:: atomic { ARRIVES(i, 2) -> arrive(i, 2) }
#if OWNERS > 2
	:: atomic { ARRIVES(i, 3) -> arrive(i, 3) }
#endif
#if OWNERS > 3
	:: atomic { ARRIVES(i, 4) -> arrive(i, 4) }
#endif
#if STALLED > 0 /* of the owners of first ballots: only their clients may take again */
	:: atomic { HAS(stalled[1], i) -> arrive_at_last(i, 1) }
	:: atomic { HAS(stalled[2], i) -> arrive_at_last(i, 2) }
#endif

	/* The node restarts, and forgets everything. */
	:: atomic {
		restarts < RESTARTS -> restarts++;
		owner[i] = 0;
#if defined(AMNESIA)
		counter[i] = 0
#elif defined(NOQUARANTINE)
		counter[i] = owed[i]
#else
		counter[i] = 0;
		quarantined = WITH(quarantined, i);
		c = 1;
		do
		:: c <= CLIENTS ->
			behind[c] = (HAS(busy, c) -> WITH(behind[c], i) : behind[c]);
			behindNow[c] = WITHOUT(behindNow[c], i);
			c++
		:: else -> break
		od;
		c = 0
#endif
	}

	/* All takes and leases from before the restart are over: the node votes again. */
	:: atomic {
		HAS(quarantined, i) && !HAS(OF_ALL(behind), i) ->
		if :: owed[i] != 0 -> POSSIBLE(3) :: else fi;
		quarantined = WITHOUT(quarantined, i);
#ifndef NOFLOOR
		counter[i] = owed[i]
#endif
	}
	od
}

init {
	byte k;
	atomic {
		do :: k < N -> run Node(k); k++ :: else -> break od;
		k = 1;
		do :: k <= CLIENTS -> run Client(k); k++ :: else -> break od;
		k = 0
	}
#ifdef NOLEFTOVERS
	atomic {
		finished == CLIENTS && OF_ALL(late) == 0 ->
		do :: k < N -> assert(owner[k] == 0); k++ :: else -> break od;
		k = 0
	}
#endif
}
