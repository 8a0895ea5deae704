/*
 * The life of a request, from Claude's asking to Claude's acting on the answer,
 * while everything around it may die. README.md says what is left out and why
 * that is no loss; ./check runs this.
 *
 * Actions carry the names of the functions that do them. Each is one step that
 * nothing can cut in two, because in the program it is one transaction of the
 * store, one message taken by the shim, or one line written or read by the CLI.
 * Everything may happen between two actions: deaths, the other server, the
 * other tab. A paused server is one that takes no step for a while, so there is
 * no action for it.
 *
 * The names in capitals under #if are mutants: mistakes that the check must find.
 */

#ifndef PROCESSES
#define PROCESSES 2 /* of the session, one after the other: the first and its resumes */
#endif
#ifndef CALLS
#define CALLS 2     /* tool calls that wait at once: a misrouted answer shows */
#endif
#define ASKS 2      /* of which so many are used */
#define ROWS (PROCESSES * ASKS)

/* What must hold. These stay 0; an assertion that fails names one of them. */
hidden byte I1_one_terminal_transition;
hidden byte I2_line_carries_the_stored_answer;
hidden byte I3_acknowledged_means_stored;
hidden byte I4_answerable_means_visible;
hidden byte I5_no_write_of_a_lower_epoch;
hidden byte tab_is_told_the_truth;
hidden byte claude_acts_once_for_one_ask;
hidden byte orphaned_means_dead;
hidden byte running_means_known;
hidden byte nobody_is_asked_twice;
hidden byte carried_only_to_what_death_cut_off;
hidden byte one_answer_runs_once;
hidden byte taken_back_never_counts;
hidden byte nobody_answers_over_a_hold;
hidden byte denied_never_runs;

#define require(what, name) if :: (what) -> skip :: else -> assert(name) fi

hidden byte i, j, k; /* of no meaning between two steps */

/* ======== the store ======== */

mtype:status = { none, open, orphaned, answered, withdrawn }
mtype:delivery = { notDelivered, queued, delivered, consumed, carried, dropped }

typedef Row { /* pending.Request. Denied is an answer like any other; expired is withdrawn by a clock. */
	mtype:status status = none;
	mtype:delivery delivery = notDelivered;
	byte answer; /* 0 for none */
	bit input    /* ToolInput */
#ifdef HOLDS
	;
	bit held;    /* an answer is stored beside the question and does not count yet */
	bit no;      /* … which is a denial */
	bit denied;  /* somebody was told that they have denied it */
	bit back     /* it was taken back: its command does nothing any more */
#endif
}
Row row[ROWS];
#ifdef HOLDS
#define isHeld(r) row[r].held
#else
#define isHeld(r) 0
#endif
byte owner;        /* epoch of the server that owns the session */
byte process;      /* the session's newest process */
bit running = 1;   /* what the store believes of it */

#define answerable(r) (row[r].status == open || row[r].status == orphaned)
#define rowOf(a) (process * ASKS + (a))

/* Every answer says which tab gave it, to which ask, to which input. */
#define answerOf(tab, r) (1 + (tab) + 2 * ((r) % ASKS) + 4 * row[r].input)
#define refused 9 /* what Claude hears of a request that we withdrew */
#ifdef HOLDS
#define heldOf(r) (10 + ((r) % ASKS) + 2 * row[r].input) /* the answer that a person wants held … */
#define deniedOf(r) (4 + heldOf(r))                      /* … and a denial, held or over what is held */
#define fits(answer, a, in) ((answer) == refused || ((answer) < refused -> (((answer) - 1) / 2) % 2 == (a) && ((answer) - 1) / 4 == (in) : ((answer) - 10) % 2 == (a) && (((answer) - 10) % 4) / 2 == (in)))
#else
#define fits(answer, a, in) ((answer) == refused || (((answer) - 1) / 2) % 2 == (a) && ((answer) - 1) / 4 == (in))
#endif

#ifndef NO_TABS
bit fresh = 1;   /* the tabs have the present version … */
byte view[ROWS]; /* … with these forms, 0 for none */
#endif

inline bump() { /* in the transaction of every change that a tab can see */
#ifndef NO_TABS
	k = 0;
	do
	:: k < ROWS -> view[k] = 0; k++
	:: else -> break
	od;
	fresh = 0
#else
	skip
#endif
}

/* The one way in which a row becomes final. */
inline ResolveRequest(r, final) {
	require(answerable(r), I1_one_terminal_transition);
	row[r].status = final;
#ifdef HOLDS
	row[r].held = 0; /* what was held goes with its question */
	row[r].no = 0;
#endif
	bump()
}

/* ======== the CLI and its shim, which share one fate ======== */

mtype:call = { idle, asking, acting, finished, cancelled, past } /* past: cancelled, and its turn is over */

typedef Call { /* a tool call of the newest process */
	mtype:call state = idle; /* survives the process as its journal */
	bit input;
	byte line;               /* in the CLI's stdin, unread; 0 for none */
	bit key;                 /* the shim has noted that it wrote the line; outlives it with its folder */
	bit settled[2]           /* by input: such a call, if made, is a new one and not one that death cut off */
}
Call call[ASKS];
bit result;        /* the line at the end of a resumed turn, in the journal and not yet read */
bit alive = 1;
byte fence;        /* highest epoch that attached; outlives the shim with its folder */
byte offset[ASKS]; /* in the journal, of the last server that attached; apart for each ask, as their lines commute */

#define emitted(a) (call[a].state == idle -> 0 : (call[a].state == asking || call[a].state == acting -> 1 : 2))
#define readAllCalls (offset[0] == emitted(0) && offset[1] == emitted(1))
#define readAll (readAllCalls && !result)

#ifdef ONE_RUN
bit ran[2 * ASKS]; /* by ask and input: the tool has run on the newest answer of a person */
#define runOf(a, in) ran[2 * (a) + (in)]
#endif

/* ======== servers ======== */

/*
 * Two at once at most, one after the other without end. Of their epochs only
 * the order matters, so they are numbered anew at every start and death.
 */
#define OLDER 0
#define NEWER 1
#define gone 2 /* the epoch of one that started after OLDER and is dead, before NEWER */
#define epochOf(s) (1 + 2 * (s))

mtype:stage = { down, started, claimed, attached, ready, launching }
mtype:asker = { nobody, uncarried, cleared, waiting }

typedef Server {
	mtype:stage stage = down;
#ifdef FORGETS_FORMER
	bit former; /* it thinks of earlier processes when Claude asks */
#endif
	mtype:asker asker[ASKS] = nobody /* how far orchestrator's ask has come with each call, until it knows that the shim has written */
}
Server server[2];

#define up(s) (server[s].stage != down)
#define adopted(s) (server[s].stage == attached || server[s].stage == ready)

/* A server that is fenced sees what it sees when the process died. */
#define cutOff(s) (!alive || epochOf(s) < fence)

#ifdef NO_STORE_FENCE
#define storeAccepts(s) true
#else
#define storeAccepts(s) (epochOf(s) >= owner)
#endif
#ifdef NO_SHIM_FENCE
#define shimAccepts(s) true
#else
#define shimAccepts(s) (epochOf(s) >= fence)
#endif
#ifdef NO_KEY
#define shimKnows(a) false
#else
#define shimKnows(a) call[a].key
#endif

/* WITHOUT_I5 looks for what comes of a missing fence. */
#ifdef WITHOUT_I5
#define requireEpoch(s, highest) skip
#else
#define requireEpoch(s, highest) require(epochOf(s) >= highest, I5_no_write_of_a_lower_epoch)
#endif

/* ---- Adopt: NextEpoch, Attach, hear what is in the journal, Initialize ---- */

#ifdef ATTACH_BEFORE_CLAIM
#define mayClaim(s) (server[s].stage == claimed)
#define mayAttach(s) (server[s].stage == started)
#else
#define mayClaim(s) (server[s].stage == started)
#define mayAttach(s) (server[s].stage == claimed)
#endif

inline step(s) {
	if
	:: server[s].stage == started -> server[s].stage = claimed
	:: else -> server[s].stage = (alive -> attached : ready)
	fi
}

inline leave(other, a) {
	if
	:: server[other].asker[a] != waiting -> server[other].asker[a] = nobody
	:: else -> skip
	fi
}

inline NextEpoch(s) {
	d_step {
		mayClaim(s) && epochOf(s) > owner ->
		owner = epochOf(s);
#ifndef NO_STORE_FENCE
		/* The store refuses what the older one would do, so it may as well forget it. */
		leave(1 - s, 0);
		leave(1 - s, 1);
		if
		:: adopted(1 - s) -> server[1 - s].stage = started
		:: else -> skip
		fi;
#endif
		step(s)
	}
}

/* From the mark, which may lag: what was read behind it is read again. */
inline Attach(s, mark0, mark1) {
	d_step {
		mayAttach(s) && epochOf(s) > fence && offset[0] >= mark0 && offset[1] >= mark1 ->
		fence = epochOf(s);
		offset[0] = mark0;
		offset[1] = mark1;
#ifdef FORGETS_FORMER
		server[s].former = (row[0].status == orphaned || row[1].status == orphaned);
#endif
#ifndef NO_SHIM_FENCE
		/* The shim closes the older connection. */
		server[1 - s].asker[0] = nobody;
		server[1 - s].asker[1] = nobody;
#endif
		step(s)
	}
}

/* ---- a call is asked ---- */

/* An answer to an earlier process that can be given to the same question. */
#ifdef CARRY_DELIVERED
#define carriable(old) (row[old].status == answered && row[old].delivery != carried && row[old].delivery != dropped)
#else
#define carriable(old) (row[old].status == answered && row[old].delivery == queued)
#endif
#if defined(NO_CARRY)
#define carries(old, a) false
#elif defined(CARRY_ANY_INPUT)
#define carries(old, a) carriable(old)
#else
#define carries(old, a) (carriable(old) && row[old].input == call[a].input)
#endif
/* An open form of an earlier process for the same question. */
#define asks(old, a) (row[old].status == orphaned && row[old].input == call[a].input)

/*
 * Of a request of an earlier process it matters whether it can be answered and
 * whether its answer can be carried. To have fewer states the rest is forgotten.
 */
inline forget(r) {
	if
	:: row[r].status == none || row[r].status == orphaned || carriable(r) -> skip
	:: else ->
		row[r].status = withdrawn;
		row[r].delivery = notDelivered;
		row[r].answer = 0;
#ifdef HOLDS
		row[r].back = 0;
		row[r].denied = 0;
#endif
		row[r].input = 0
	fi
}

/* i is the row of call a, j the first row of earlier processes that is as wanted, or i. */
#define find(a, wanted) i = rowOf(a); j = a; do :: j < i && !(wanted) -> j = j + ASKS :: else -> break od

inline CarryAnswer(s, a) {
	find(a, carries(j, a));
	if
#ifdef FORGETS_FORMER
	:: !server[s].former -> server[s].asker[a] = uncarried
	:: server[s].former && j < i ->
#else
	:: j < i ->
#endif
		require(!call[a].settled[call[a].input], carried_only_to_what_death_cut_off);
		row[i].status = answered;
		row[i].delivery = queued;
		row[i].input = call[a].input;
		row[i].answer = row[j].answer;
		row[j].delivery = carried;
		forget(j);
		bump();
		server[s].asker[a] = waiting
	:: else -> server[s].asker[a] = uncarried
	fi
}

inline OpenRequest(s, a) {
	i = rowOf(a);
	row[i].status = open;
	row[i].input = call[a].input;
	bump();
	server[s].asker[a] = waiting
}

/* The first step of ask. In the first process there is nothing to carry. */
inline Ask(s, a) {
	if
	:: row[rowOf(a)].status != none -> server[s].asker[a] = waiting /* asked before, by this server or another */
	:: row[rowOf(a)].status == none && process == 0 -> OpenRequest(s, a)
	:: row[rowOf(a)].status == none && process > 0 -> CarryAnswer(s, a)
	fi
}

/* The second: an orphaned form for this question makes way. But an answer to it may have been quicker. */
inline Withdraw(s, a) {
	d_step {
		server[s].asker[a] == uncarried && storeAccepts(s) ->
		requireEpoch(s, owner);
		server[s].asker[a] = cleared;
		find(a, asks(j, a));
		if
#ifndef NO_WITHDRAW
		:: j < i ->
			ResolveRequest(j, withdrawn);
			forget(j)
#endif
		:: else ->
#ifndef NO_SECOND_LOOK
			find(a, carries(j, a));
			if
#ifdef FORGETS_FORMER
			:: j < i && server[s].former -> Ask(s, a)
#else
			:: j < i -> Ask(s, a)
#endif
			:: else -> skip
			fi
#else
			skip
#endif
		fi
	}
}

/* The third: the form. */
inline Put(s, a) {
	d_step {
		server[s].asker[a] == cleared && storeAccepts(s) ->
		requireEpoch(s, owner);
		if
		:: row[rowOf(a)].status == none -> OpenRequest(s, a)
		:: else -> server[s].asker[a] = waiting
		fi
	}
}

#define hears(s) (adopted(s) && running && storeAccepts(s)) /* of a process that is buried nothing is read again */

/* The next line of the journal. What it says is stored before the mark is, or with it. */
inline Hear(s, a) {
	d_step {
		hears(s) && offset[a] < emitted(a) ->
		requireEpoch(s, owner);
		i = rowOf(a);
		if
		:: offset[a] == 0 -> Ask(s, a) /* can_use_tool */
		:: offset[a] == 1 && (call[a].state == cancelled || call[a].state == past) -> /* control_cancel_request */
			if
			:: answerable(i) -> ResolveRequest(i, withdrawn)
#ifndef NO_DROP
			:: row[i].delivery == queued -> row[i].delivery = dropped /* a person was quicker */
#endif
			:: else -> skip
			fi;
			server[s].asker[a] = nobody
		:: offset[a] == 1 && call[a].state == finished -> /* tool_result */
			if
			:: row[i].delivery == queued || row[i].delivery == delivered -> row[i].delivery = consumed
			:: else -> skip
			fi;
			server[s].asker[a] = nobody
		fi;
		offset[a]++
	}
}

/* The resumed turn is over: what was not asked again by now will not be. */
inline EndFormer(s) {
	d_step {
		hears(s) && readAllCalls && result ->
		requireEpoch(s, owner);
		i = 0;
		do
		:: i < process * ASKS ->
			if
#ifndef NO_END_FORMER
			:: row[i].status == orphaned -> ResolveRequest(i, withdrawn)
			:: row[i].delivery == queued -> row[i].delivery = dropped
#endif
			:: else -> skip
			fi;
			forget(i);
			i++
		:: else -> break
		od;
		result = 0
	}
}

inline reconcile(s, a) {
	if
	:: call[a].state == asking && server[s].asker[a] == nobody -> Ask(s, a)
	:: call[a].state != asking && row[rowOf(a)].status == open ->
		i = rowOf(a);
		ResolveRequest(i, withdrawn)
	:: call[a].state != asking && row[rowOf(a)].delivery == queued -> row[rowOf(a)].delivery = delivered
	:: else -> skip
	fi
}

/* initialize again: the CLI says what is open, behind all that it said before. */
inline Initialize(s) {
	d_step {
		server[s].stage == attached && alive && storeAccepts(s) && shimAccepts(s) && readAll ->
		requireEpoch(s, owner);
		requireEpoch(s, fence);
#ifndef NO_RECONCILE
		reconcile(s, 0);
		reconcile(s, 1);
#endif
		server[s].stage = ready
	}
}

/* ---- an answer on its way to Claude ---- */

/* Ask returns, and the shim is given the line with its key. */
inline Write(s, a) {
	d_step {
		server[s].asker[a] == waiting && row[rowOf(a)].answer != 0 && alive && shimAccepts(s) && !shimKnows(a) ->
		requireEpoch(s, fence);
		call[a].line = row[rowOf(a)].answer;
		call[a].key = 1
	}
}

/* The acknowledgement, of this write or of an earlier one. */
inline SetDelivery(s, a) {
	d_step {
		server[s].asker[a] == waiting && row[rowOf(a)].answer != 0 && call[a].key && storeAccepts(s) ->
		requireEpoch(s, owner);
		if
		:: row[rowOf(a)].delivery == queued -> row[rowOf(a)].delivery = delivered
		:: else -> skip
		fi;
		server[s].asker[a] = nobody
	}
}

/* ---- death and resume ---- */

#define asksNow(s, a) (server[s].asker[a] == uncarried || server[s].asker[a] == cleared)

/*
 * The process is gone, or seems so; all that it said is read. settleHeard: what
 * the shim has noted as written is delivered, for Claude may have heard it.
 */
inline Orphan(s) {
	d_step {
		adopted(s) && running && cutOff(s) && storeAccepts(s) && (alive || readAll && !asksNow(s, 0) && !asksNow(s, 1)) ->
		requireEpoch(s, owner);
		i = 0;
		do
		:: i < ASKS ->
			if
			:: row[rowOf(i)].status == open ->
				row[rowOf(i)].status = orphaned;
#ifndef NO_BUMP
				bump()
#endif
#ifndef NO_HEARD
			:: row[rowOf(i)].delivery == queued && call[i].key -> row[rowOf(i)].delivery = delivered
#endif
			:: else -> skip
			fi;
			server[s].asker[i] = nobody;
			i++
		:: else -> break
		od;
		running = 0;
		server[s].stage = ready
	}
}

/* By hand, or because somebody answered: at any time. */
inline Resume(s) {
	d_step {
		server[s].stage == ready && !running && storeAccepts(s) && process + 1 < PROCESSES ->
		requireEpoch(s, owner);
		i = 0;
		do
		:: i < ASKS ->
			offset[i] = 0;
			if
			:: call[i].state != idle -> call[i].settled[call[i].input] = (call[i].state == finished || call[i].state == past)
			:: else -> skip
			fi;
			call[i].state = idle;
			call[i].input = 0;
			call[i].key = 0;
			forget(rowOf(i));
			i++
		:: else -> break
		od;
		process++;
		running = 1;
		server[s].stage = launching;
		if
		:: adopted(1 - s) -> server[1 - s].stage = started /* it knew the old process only */
		:: else -> skip
		fi
	}
}

/* A shim that starts looks at the fence first. */
inline Launch(s) {
	d_step {
		server[s].stage == launching ->
		if
#ifdef NO_LAUNCH_FENCE
		:: !alive ->
#else
		:: !alive && epochOf(s) >= fence ->
#endif
			alive = 1;
#ifdef FORGETS_FORMER
			server[s].former = 1;
#endif
			server[s].stage = ready
		:: else -> server[s].stage = started
		fi
	}
}

/* ---- what a door does for a tab ---- */

inline tell(t, r, applied) {
	if
	:: applied -> require(row[r].status == answered && row[r].answer == answerOf(t, r), I3_acknowledged_means_stored)
	:: else -> require(!answerable(r) && row[r].answer != answerOf(t, r), tab_is_told_the_truth)
	fi
}

/*
 * Which tab gave an answer is only ever compared, and only with the answers to
 * the same ask. So whoever is first may be called tab 0.
 */
#ifdef BLIND_WRITE
#define first(t) true
byte seen[2]; /* row + 1 that was open when a tab's answer was checked */
#else
#define first(t) (t == 0)
#endif

/*
 * A command of a tab arrives, for the first time or again, and may have been
 * sent long ago. If the store's reply is lost, and the second look at the row
 * too, the tab is told nothing and will send it again.
 */
inline Answer(t, r, replied) {
	d_step {
		(up(OLDER) || up(NEWER)) && row[r].status != none && (answerable(r) -> first(t) : replied) ->
		i = r;
#ifdef MISROUTE
		i = 0; /* the first that is open, whatever the answer names */
		do
		:: i < r && !answerable(i) -> i++
		:: else -> break
		od;
#endif
		if
		:: !answerable(i) -> tell(t, r, row[r].answer == answerOf(t, r))
#ifndef ANSWER_OVER_HOLD
		:: answerable(i) && isHeld(i) -> skip /* told who has answered, and to wait */
#endif
#if defined(BLIND_WRITE)
		:: answerable(i) && !isHeld(i) -> seen[t] = r + 1
#elif defined(TOLD_BEFORE_COMMIT)
		:: answerable(i) && !isHeld(i) -> tell(t, r, true)
#else
#ifdef ANSWER_OVER_HOLD
		:: answerable(i) ->
#else
		:: answerable(i) && !isHeld(i) ->
#endif
			require(!isHeld(i), nobody_answers_over_a_hold);
			ResolveRequest(i, answered);
			row[i].delivery = queued;
			row[i].answer = answerOf(t, r);
#ifdef ONE_RUN
			runOf(i % ASKS, row[i].input) = 0;
#endif
			if
			:: replied && i == r -> tell(t, r, true)
#ifdef NO_REREAD
			:: else -> tell(t, r, false)
#else
			:: else -> skip
#endif
			fi
#endif
		fi
	}
}

#ifdef BLIND_WRITE
inline AnswerBlindly(t) {
	d_step {
		seen[t] != 0 ->
		ResolveRequest(seen[t] - 1, answered);
		row[seen[t] - 1].delivery = queued;
		row[seen[t] - 1].answer = answerOf(t, seen[t] - 1);
		seen[t] = 0
	}
}
#endif

#ifdef HOLDS
/*
 * ---- an answer that a person can take back for some seconds ----
 * How many they are makes no difference: Release may come at any time. What a
 * change of rights does to a held answer is what taking it back does.
 */

#ifdef FORGETS_BACK
#define wasTakenBack(r) false
#else
#define wasTakenBack(r) row[r].back
#endif

/* The command arrives, for the first time or again; denies says what it decides. */
inline HoldRequest(r, denies) {
	d_step {
		(up(OLDER) || up(NEWER)) && answerable(r) && !row[r].held && !wasTakenBack(r) ->
		row[r].held = 1;
		row[r].no = denies;
#ifdef HELD_IN_MEMORY
		keeps[r] = 1;
#endif
		bump()
	}
}

inline Undo(r) {
	d_step {
		(up(OLDER) || up(NEWER)) && answerable(r) && row[r].held ->
		row[r].held = 0;
		row[r].no = 0;
		row[r].back = 1;
		bump()
	}
}

#ifdef DENY_OVER_DENIAL
#define yields(r) row[r].held
#else
#define yields(r) (row[r].held && !row[r].no)
#endif

/*
 * Somebody denies while an approval is held: the ordinary compare-and-set, on the
 * condition that this very hold stands.
 */
inline Deny(r) {
	d_step {
		(up(OLDER) || up(NEWER)) && answerable(r) && yields(r) ->
		require(!row[r].no, nobody_answers_over_a_hold);
		row[r].denied = 1;
#ifdef DENY_IN_TWO_STEPS
		row[r].held = 0; /* the denial itself is to follow */
		bump()
#else
		i = r;
		ResolveRequest(i, answered);
		row[i].delivery = queued;
		row[i].answer = deniedOf(i)
#endif
	}
}

/* The time has passed: the ordinary compare-and-set, while the hold stands. */
#if defined(RELEASE_UNSEEN)
bit due[ROWS]; /* was held when the server looked */
#define standing(r) due[r]
#elif defined(HELD_IN_MEMORY)
bit keeps[ROWS]; /* the server that took it lives */
#define standing(r) (row[r].held && keeps[r])
#else
#define standing(r) row[r].held
#endif

inline Release(r) {
	d_step {
		(up(OLDER) || up(NEWER)) && answerable(r) && standing(r) ->
		require(!row[r].back, taken_back_never_counts);
		require(row[r].no || !row[r].denied, denied_never_runs);
		i = r;
		if
		:: row[i].no -> row[i].answer = deniedOf(i)
		:: else -> row[i].answer = heldOf(i)
		fi;
		ResolveRequest(i, answered);
		row[i].delivery = queued;
#ifdef ONE_RUN
		runOf(i % ASKS, row[i].input) = 0;
#endif
		skip
	}
}

#ifdef RELEASE_UNSEEN
inline LookAtHeld(r) {
	d_step { (up(OLDER) || up(NEWER)) && answerable(r) && row[r].held && !due[r] -> due[r] = 1 }
}
#endif
#endif

/* The session is to be killed, which may then not come to pass. */
inline WithdrawAll(a) {
	d_step {
		(up(OLDER) || up(NEWER)) && answerable(rowOf(a)) ->
		i = rowOf(a);
		ResolveRequest(i, withdrawn);
		row[i].answer = refused
	}
}

#ifdef SNAPSHOT_OF_OPEN
#define inSnapshot(r) (row[r].status == open)
#else
#define inSnapshot(r) answerable(r)
#endif

#define seenHeld(r) (100 * isHeld(r))

/* A snapshot, after a bell, a poll or a new connection. */
inline Sync() {
	d_step {
		!fresh && (up(OLDER) || up(NEWER)) ->
		i = 0;
		do
		:: i < ROWS ->
			view[i] = (inSnapshot(i) -> row[i].status + seenHeld(i) : 0);
			i++
		:: else -> break
		od;
		fresh = 1
	}
}

/* ======== what Claude does ======== */

inline Act(a) { /* on any line that names a call it made and did not withdraw */
	d_step {
		alive && call[a].line != 0 ->
		require(call[a].line == row[rowOf(a)].answer && fits(call[a].line, a, call[a].input), I2_line_carries_the_stored_answer);
		if
		:: call[a].state == cancelled || call[a].state == past -> skip
		:: else ->
			require(call[a].state == asking, claude_acts_once_for_one_ask);
#ifdef ONE_RUN
			if
			:: call[a].line == refused -> skip
#ifdef HOLDS
			:: call[a].line > 13 -> skip /* a denial */
#endif
			:: else ->
				require(!runOf(a, call[a].input), one_answer_runs_once);
				runOf(a, call[a].input) = 1
			fi;
#endif
			call[a].state = acting
		fi;
		call[a].line = 0
	}
}

inline Finish(a) { /* the tool_result, in the transcript and on stdout */
	d_step {
		alive && call[a].state == acting ->
		call[a].state = finished
	}
}

/* ======== what nobody can rely on ======== */

inline CanUseTool(a, in) {
	d_step {
		/* The first of two equal calls may be called 0. A resumed Claude may ask differently. */
		alive && a < CALLS && call[a].state == idle && !result && (a == 0 || process > 0 || call[0].state != idle) &&
		(in == 0 || process > 0 && row[a].status != none && !call[a].settled[1]) ->
		call[a].state = asking;
		call[a].input = in
	}
}

#define quiet(a) (call[a].state != asking && call[a].state != acting)

inline settle(a) {
	if
	:: call[a].state == idle || call[a].input == 1 && process + 1 < PROCESSES -> call[a].settled[0] = 1
	:: else -> skip
	fi;
	if
	:: call[a].state == idle || call[a].input == 0 && process + 1 < PROCESSES -> call[a].settled[1] = 1
	:: else -> skip
	fi;
	if
	:: call[a].state == cancelled && process + 1 < PROCESSES -> call[a].state = past
	:: else -> skip
	fi
}

#if PROCESSES > 2
#define former(r) ((r) / ASKS < process && (row[r].status == orphaned || row[r].delivery == queued))
#define anyFormer (former(0) || former(1) || former(2) || former(3))
#else
#define anyFormer (row[0].status == orphaned || row[0].delivery == queued || row[1].status == orphaned || row[1].delivery == queued)
#endif

/*
 * Nothing that death cut off will be asked again after this. Where nothing is
 * left of an earlier process it makes no difference.
 */
inline TurnEnds() {
	d_step {
		alive && process > 0 && !result && quiet(0) && quiet(1) && anyFormer ->
		result = 1;
		settle(0);
		settle(1)
	}
}

inline Cancel(a) {
	d_step {
		alive && call[a].state == asking ->
		call[a].state = cancelled
	}
}

inline ProcessDies() { /* the CLI or its shim */
	d_step {
		alive ->
		i = 0;
		do
		:: i < ASKS ->
			call[i].line = 0;
			server[OLDER].asker[i] = nobody;
			server[NEWER].asker[i] = nobody;
			i++
		:: else -> break
		od;
		alive = 0
	}
}

#ifdef SERVERS
byte starts;
#define mayStart (starts < SERVERS)
#define mayDie(s) (s == OLDER || starts < SERVERS) /* the last goes on */
#else
#define mayStart true
#define mayDie(s) true
#endif

inline renumber(epoch) {
	if
	:: epoch == epochOf(NEWER) && !up(NEWER) -> epoch = gone
	:: else -> skip
	fi;
	if
	:: epoch < epochOf(NEWER) && !up(OLDER) -> epoch = 0
	:: else -> skip
	fi
}

inline die(s) {
	server[s].stage = down;
#if defined(HOLDS) && defined(HELD_IN_MEMORY)
	keeps[0] = 0;
	keeps[2] = 0;
#endif
#ifdef FORGETS_FORMER
	server[s].former = 0;
#endif
	server[s].asker[0] = nobody;
	server[s].asker[1] = nobody;
	renumber(owner);
	renumber(fence)
}

inline ServerDies(s) {
	d_step {
		up(s) && mayDie(s) ->
		die(s)
	}
}

/* It had read that Claude asks, and marked it as read, and not yet stored the request. */
inline ServerDiesReading(s, a) {
	d_step {
		hears(s) && offset[a] == 0 && emitted(a) > 0 && mayDie(s) ->
		offset[a] = 1;
		die(s)
	}
}

inline ServerStarts() {
	d_step {
		mayStart && (!up(OLDER) || !up(NEWER)) ->
#ifdef SERVERS
		starts++;
#endif
		if
		:: up(NEWER) ->
			server[OLDER].stage = server[NEWER].stage;
			server[OLDER].asker[0] = server[NEWER].asker[0];
			server[OLDER].asker[1] = server[NEWER].asker[1];
			server[NEWER].asker[0] = nobody;
			server[NEWER].asker[1] = nobody;
#ifdef FORGETS_FORMER
			server[OLDER].former = server[NEWER].former;
			server[NEWER].former = 0;
#endif
			owner = (owner == epochOf(NEWER) -> epochOf(OLDER) : 0);
			fence = (fence == epochOf(NEWER) -> epochOf(OLDER) : 0)
		:: else -> skip
		fi;
		server[NEWER].stage = started
	}
}

/* ======== who does what ======== */

proctype Serve(byte s) {
end:
	do
	:: NextEpoch(s)
	:: Attach(s, offset[0], offset[1])
#ifndef NO_REPLAY
	:: Attach(s, 0, 0)
	:: Attach(s, 0, 1)
	:: Attach(s, 1, 0)
	:: Attach(s, 1, 1)
	:: Attach(s, 0, 2)
	:: Attach(s, 2, 0)
	:: Attach(s, 1, 2)
	:: Attach(s, 2, 1)
#endif
	:: Hear(s, 0)
	:: Hear(s, 1)
	:: EndFormer(s)
	:: Initialize(s)
	:: Withdraw(s, 0)
	:: Withdraw(s, 1)
	:: Put(s, 0)
	:: Put(s, 1)
	:: Write(s, 0)
	:: Write(s, 1)
	:: SetDelivery(s, 0)
	:: SetDelivery(s, 1)
#ifndef NO_ORPHAN
	:: Orphan(s)
#endif
	:: Launch(s)
	od
}

#ifdef HOLDS
proctype Holds() { /* the server's watch over what is held */
end:
	do
	:: Release(0)
#if CALLS > 1
	:: Release(1)
#endif
#if PROCESSES > 1
	:: Release(2)
#endif
#if PROCESSES > 2
	:: Release(4)
#endif
	od
}
#define Held(r) HoldRequest(r, 0) :: HoldRequest(r, 1) :: Undo(r) :: Deny(r)
#endif

#ifdef LIVENESS
proctype Systemd() { /* starts another when the newest is dead; one beside it is the World's doing */
end:
	do
	:: atomic { mayStart && !up(NEWER) -> ServerStarts() }
	od
}
#endif

proctype Hub() {
end:
	do
#if defined(NO_TABS) || defined(NO_BELL)
	:: false
#else
	:: Sync()
#endif
	od
}

proctype Claude() {
end:
	do
	:: Act(0)
	:: Act(1)
	:: Finish(0)
	:: Finish(1)
	od
}

#define Answers(r) Answer(0, r, true) :: Answer(0, r, false) :: Answer(1, r, true) :: Answer(1, r, false)

proctype World() {
end:
	do
	:: CanUseTool(0, 0)
	:: CanUseTool(0, 1)
	:: CanUseTool(1, 0)
	:: CanUseTool(1, 1)
	:: TurnEnds()
	:: Cancel(0)
	:: Cancel(1)
	:: Answers(0)
	:: Answers(1)
#if PROCESSES > 1
	:: Answers(2)
	:: Answers(3)
#endif
#if PROCESSES > 2
	:: Answers(4)
	:: Answers(5)
#endif
#ifdef HOLDS
	:: Held(0)
#if CALLS > 1
	:: Held(1)
#endif
#if PROCESSES > 1
	:: Held(2)
#endif
#if PROCESSES > 2
	:: Held(4)
#endif
#ifdef RELEASE_UNSEEN
	:: LookAtHeld(0)
	:: LookAtHeld(2)
#endif
#endif
#ifdef BLIND_WRITE
	:: AnswerBlindly(0)
	:: AnswerBlindly(1)
#endif
	:: WithdrawAll(0)
	:: WithdrawAll(1)
	:: Resume(OLDER)
	:: Resume(NEWER)
	:: ServerStarts()
	:: ServerDies(OLDER)
	:: ServerDies(NEWER)
	:: ServerDiesReading(OLDER, 0)
	:: ServerDiesReading(OLDER, 1)
	:: ServerDiesReading(NEWER, 0)
	:: ServerDiesReading(NEWER, 1)
	:: ProcessDies()
#ifdef LIVENESS
	:: starts <= SERVERS /* always: none of this has to happen */
#endif
	od
}

/* ======== what must hold in every state ======== */

#ifdef NO_TABS
#define unseen(r) false
#else
#define unseen(r) (fresh && view[r] != (answerable(r) -> row[r].status + seenHeld(r) : 0))
#endif
#define wronged(r) (row[r].status == orphaned && alive && (r) / ASKS == process)
/* r is asked although old, the same question, has an answer that Claude never heard. */
#define twice(old, r) (answerable(r) && row[old].input == row[r].input && row[old].delivery == queued)

#if PROCESSES == 1
#define anyUnseen (unseen(0) || unseen(1))
#define anyWronged (wronged(0) || wronged(1))
#define anyTwice false
#elif PROCESSES == 2
#define anyUnseen (unseen(0) || unseen(1) || unseen(2) || unseen(3))
#define anyWronged (wronged(0) || wronged(1) || wronged(2) || wronged(3))
#define anyTwice (twice(0, 2) || twice(1, 3))
#else
#define anyUnseen (unseen(0) || unseen(1) || unseen(2) || unseen(3) || unseen(4) || unseen(5))
#define anyWronged (wronged(0) || wronged(1) || wronged(2) || wronged(3) || wronged(4) || wronged(5))
#define anyTwice (twice(0, 2) || twice(0, 4) || twice(2, 4) || twice(1, 3) || twice(1, 5) || twice(3, 5))
#endif

proctype Monitor() {
end:
	do
	:: atomic { anyUnseen -> assert(I4_answerable_means_visible) }
	:: atomic { anyWronged -> assert(orphaned_means_dead) }
	:: atomic { alive && !running -> assert(running_means_known) }
	:: atomic { anyTwice -> assert(nobody_is_asked_twice) }
	od
}

init {
	atomic {
		run Serve(OLDER);
		run Serve(NEWER);
#ifdef LIVENESS
		run Systemd();
#endif
#ifdef HOLDS
		run Holds();
#endif
		run Hub();
		run Claude();
		run World();
		run Monitor()
	}
}

/* ======== what must happen, if some server stays up ======== */

#ifdef LIVENESS
#define wants(a) (call[a].state != cancelled && call[a].state != past)
#define heard(r) (row[r].delivery == consumed || !alive || process != (r) / ASKS || !wants(0))

/* Claude hears what became of what it asked, unless it is dead or no longer asks; and we hear that it has. */
ltl answered_is_consumed {
	[] (row[0].status == answered -> <> heard(0))
}
/* The same for what is asked again. */
ltl carried_is_consumed {
	[] (row[2].status == answered -> <> heard(2))
}
ltl refused_is_heard {
	[] (row[0].answer == refused && call[0].state == asking && process == 0 -> <> (call[0].state != asking || !alive))
}
/* Whatever Claude asks is put before a person, unless it has its answer already. */
ltl asked_is_put {
	[] (call[0].state == asking && process == 0 -> <> (!alive || !wants(0) || row[0].status != none && (!answerable(0) || fresh && view[0] != 0)))
}
ltl asked_again_is_put {
	[] (call[0].state == asking && process == 1 -> <> (!alive || !wants(0) || row[2].status != none && (!answerable(2) || fresh && view[2] != 0)))
}
/* What death leaves open is shown as orphaned. */
ltl open_is_settled {
	[] (row[0].status == open && !alive -> <> (row[0].status != open))
}
/* And whatever can be answered is shown. */
ltl answerable_is_seen {
	[] (answerable(0) -> <> (!answerable(0) || fresh && view[0] == row[0].status + seenHeld(0)))
}
#ifdef HOLDS
/* What a person gave counts in the end, unless they took it back or nobody asks any more. */
ltl held_is_settled {
	[] (row[0].held -> <> !row[0].held)
}
#endif
#endif
