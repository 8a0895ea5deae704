/*
 * Several servers on one database, and a runner on another host that has the CLI.
 * It dials one server at a time, whose lease has an epoch that store and shim check.
 * sayso.pml has the life of a request in full; this file has one request and what
 * can go wrong between the machines. README.md says what is left out; ./check runs it.
 *
 * As there, an action is a step that nothing can cut in two, everything may happen
 * between two actions, and a paused server is one that takes no step for a while.
 * The names in capitals under #if are mutants.
 */

#ifndef FAULTS
#define FAULTS 3 /* cut connections, and deaths of servers, runner and database, together */
#endif

/* What must hold. These stay 0; an assertion that fails names one of them. */
hidden byte never_two_writers;
hidden byte stale_server_cannot_write;
hidden byte epochs_only_grow;
hidden byte no_answer_is_lost;
hidden byte claude_hears_the_stored_answer;
hidden byte claude_acts_once;
hidden byte unreachable_is_not_dead;

#define require(what, name) if :: (what) -> skip :: else -> assert(name) fi

byte faults;
#define mayFail (faults < FAULTS)

/* ======== the database ======== */

mtype:status = { none, open, orphaned, answered, withdrawn }
mtype:delivery = { notDelivered, queued, delivered, consumed, dropped }

typedef Rows {
	byte epoch;           /* of the runner's lease */
	mtype:status status = none;
	mtype:delivery delivery = notDelivered;
	byte answer;          /* 0 for none */
	byte mark;            /* how much of the journal is stored */
	bit running = 1       /* what the store believes of the process */
}
Rows db;
byte holder = 2; /* who took the lease last; nobody reads it but the assertions */

#define answerable (db.status == open || db.status == orphaned)

#ifdef FAILOVER
Rows standby; /* what a failover keeps */

inline copy(to, from) {
	to.epoch = from.epoch;
	to.status = from.status;
	to.delivery = from.delivery;
	to.answer = from.answer;
	to.mark = from.mark;
	to.running = from.running
}
#define committed copy(standby, db) /* the standby has it before anybody is told */
#else
#define committed skip
#endif
#ifdef LEASE_UNSYNCED
#define leaseCommitted skip
#else
#define leaseCommitted committed
#endif
#ifdef ANSWER_UNSYNCED
#define answerCommitted skip
#else
#define answerCommitted committed
#endif

/* ======== the runner, and the CLI under its shim ======== */

#define nobody 2
bit runnerUp = 1;
byte link = nobody; /* the server that the runner has dialed */

mtype:call = { idle, asking, acting, finished, cancelled }

bit alive = 1;        /* shim and CLI share one fate; they outlive the runner */
byte fence;           /* the highest epoch that attached */
byte writer = nobody; /* who attached last; only the assertions read it */
mtype:call call = idle;
bit key;              /* the shim has noted that it wrote the answer */
byte line;            /* in the CLI's stdin, unread; 0 for none */
byte cut;             /* the journal begins here: what is before is stored */

#define emitted (call == idle -> 0 : (call == asking || call == acting -> 1 : 2))

typedef Frame { /* on its way to the shim. It outlives the connection that brought it, in a buffer. */
	byte epoch;   /* 0 for none */
	byte answer   /* 0 for an attach, else a write */
}
Frame frame[2];

inline drop(s) {
	frame[s].epoch = 0;
	frame[s].answer = 0
}

/* ======== servers ======== */

mtype:stage = { down, up, greeted, leased, attaching, attached, ready }

typedef Server {
	mtype:stage stage = up;
	byte epoch;
	byte offset;   /* in the journal */
	bit read;      /* the line there has arrived and is not stored */
	bit ack        /* the shim has the answer, which is not stored */
#ifdef NO_POLL
	;
	bit notified
#endif
#if defined(SERVER_CLOCK) || defined(COMPARES_FIRST)
	;
	bit sure       /* by its own clock, its lease has not run out; or it has just looked */
#endif
}
Server server[2];

#define isUp(s) (server[s].stage != down)
#define drives(s) (server[s].stage == attached || server[s].stage == ready)
#define reaches(s) (link == s && runnerUp)

#if defined(NO_STORE_FENCE)
#define storeAccepts(s) true
#elif defined(SERVER_CLOCK) || defined(COMPARES_FIRST)
#define storeAccepts(s) server[s].sure
#else
#define storeAccepts(s) (server[s].epoch == db.epoch)
#endif
#ifdef NO_SHIM_FENCE
#define shimAccepts(s) true
#else
#define shimAccepts(s) (frame[s].epoch >= fence)
#endif
#ifdef NO_KEY
#define shimKnows false
#else
#define shimKnows key
#endif

#define requireLease(s) require(holder == s, stale_server_cannot_write)

inline forget(s) {
#ifndef RETURNS_TO_OLD_LEASE
	server[s].epoch = 0;
#endif
	server[s].offset = 0;
	server[s].read = 0;
	server[s].ack = 0;
#if defined(SERVER_CLOCK) || defined(COMPARES_FIRST)
	server[s].sure = 0;
#endif
#ifdef NO_POLL
	server[s].notified = 0;
#endif
	server[s].stage = up
}

/* The runner's hello is answered by taking its lease, whoever has it. */
inline TakeLease(s) {
	d_step {
		server[s].stage == greeted ->
		db.epoch++;
		leaseCommitted;
		holder = s;
		server[s].epoch = db.epoch;
#ifdef SERVER_CLOCK
		server[s].sure = 1;
#endif
		server[s].stage = leased
	}
}

/* From the mark on; what was read behind it is read again. */
inline hold(s) {
	server[s].offset = (db.mark > cut -> db.mark : cut);
	server[s].stage = attached
}

/* A dead process is attached for its journal alone. */
inline Attach(s) {
	d_step {
		server[s].stage == leased && reaches(s) && frame[s].epoch == 0 ->
		if
		:: alive ->
			frame[s].epoch = server[s].epoch;
			server[s].stage = attaching
		:: else -> hold(s)
		fi
	}
}

/* The next line of the journal arrives … */
inline Read(s) {
	d_step {
		drives(s) && reaches(s) && !server[s].read && server[s].offset < emitted ->
		server[s].read = 1
	}
}

/* … and what it says is stored together with the mark. */
inline Hear(s) {
	d_step {
		server[s].read && storeAccepts(s) ->
		requireLease(s);
		if
		:: server[s].offset == 0 -> /* can_use_tool */
			if
			:: db.status == none -> db.status = open
			:: else -> skip
			fi
		:: server[s].offset == 1 && call == cancelled -> /* control_cancel_request */
			if
			:: answerable -> db.status = withdrawn
			:: db.delivery == queued -> db.delivery = dropped /* a person was quicker */
			:: else -> skip
			fi
		:: server[s].offset == 1 && call == finished -> /* tool_result */
			if
			:: db.delivery == queued || db.delivery == delivered -> db.delivery = consumed
			:: else -> skip
			fi
		fi;
		server[s].offset++;
		db.mark = (db.mark > server[s].offset -> db.mark : server[s].offset);
		server[s].read = 0
	}
}

#define readAll(s) (reaches(s) && !server[s].read && server[s].offset == emitted)

/* initialize: the CLI says what is open, behind all that it said before. */
inline Reconcile(s) {
	d_step {
		server[s].stage == attached && alive && readAll(s) && storeAccepts(s) ->
		requireLease(s);
#ifndef NO_RECONCILE
		if
		:: call == asking && db.status == none -> db.status = open
		:: (call == finished || call == cancelled) && db.status == open -> db.status = withdrawn
		:: call != asking && db.delivery == queued -> db.delivery = delivered
		:: else -> skip
		fi;
#endif
#ifdef NO_POLL
		server[s].notified = (db.delivery == queued); /* who attaches looks */
#endif
		server[s].stage = ready
	}
}

/* The journal may forget what is stored. */
inline CommitJournal(s) {
	d_step {
		drives(s) && reaches(s) && fence == server[s].epoch && cut < db.mark && db.mark <= emitted ->
		cut = db.mark
	}
}

#ifdef NO_POLL
#define looks(s) server[s].notified
#else
#define looks(s) true /* every two seconds */
#endif

inline Write(s) {
	d_step {
		server[s].stage == ready && reaches(s) && looks(s) && db.delivery == queued && frame[s].epoch == 0 && !server[s].ack ->
		frame[s].answer = db.answer;
		frame[s].epoch = server[s].epoch
	}
}

inline SetDelivery(s) {
	d_step {
		server[s].ack && storeAccepts(s) ->
		requireLease(s);
		if
		:: db.delivery == queued -> db.delivery = delivered
		:: else -> skip
		fi;
		server[s].ack = 0
	}
}

/* The runner says that the process has ended. */
inline Orphan(s) {
	d_step {
		drives(s) && !alive && db.running && readAll(s) && storeAccepts(s) ->
		requireLease(s);
		if
		:: db.status == open -> db.status = orphaned
		:: else -> skip
		fi;
		db.running = 0
	}
}

/* It notices that another one has the lease, or that the runner is gone. */
inline StepDown(s) {
	d_step {
#ifdef NO_STEP_DOWN
		isUp(s) && server[s].stage != up && link != s ->
#else
		isUp(s) && server[s].stage != up && (link != s || server[s].stage != greeted && server[s].epoch != db.epoch) ->
#endif
		if
		:: link == s -> link = nobody
		:: else -> skip
		fi;
		forget(s)
	}
}

#ifdef EXPIRED_IS_DEAD
/* The lease runs out while the runner is cut off. */
inline GiveUp(s) {
	d_step {
		isUp(s) && link == nobody && db.status == open && db.epoch > 0 ->
		db.status = orphaned;
		db.running = 0
	}
}
#endif

/* ======== what the runner and its shim do ======== */

inline Dial(s) {
	d_step {
		runnerUp && link == nobody && isUp(s) ->
		link = s;
		forget(s);
#ifdef RETURNS_TO_OLD_LEASE
		server[s].stage = (server[s].epoch > 0 -> leased : greeted)
#else
		server[s].stage = greeted
#endif
	}
}

/* Pings are not answered, or the server has closed the connection. */
inline Hangup() {
	d_step {
		runnerUp && link != nobody && (server[link].stage == down || server[link].stage == up) ->
		link = nobody
	}
}

inline RunnerStarts() {
	d_step {
		!runnerUp ->
		runnerUp = 1
	}
}

inline TakeFrame(s) {
	d_step {
		alive && frame[s].epoch != 0 ->
		if
		:: frame[s].answer == 0 && frame[s].epoch > fence ->
			fence = frame[s].epoch;
			writer = s;
			if
			:: reaches(s) && server[s].stage == attaching && server[s].epoch == fence -> hold(s)
			:: else -> skip
			fi
		:: frame[s].answer == 0 && frame[s].epoch <= fence ->
#ifdef RAISES_ITSELF
			fence++;
			writer = s;
			if
			:: reaches(s) && server[s].stage == attaching ->
				server[s].epoch = fence;
				hold(s)
			:: else -> skip
			fi
#else
			skip
#endif
		:: frame[s].answer != 0 && shimAccepts(s) ->
			require(writer == s, never_two_writers);
			if
			:: !shimKnows ->
				line = frame[s].answer;
				key = 1
			:: else -> skip
			fi;
			if
			:: reaches(s) && server[s].stage == ready -> server[s].ack = 1
			:: else -> skip
			fi
		:: else -> skip
		fi;
		drop(s)
	}
}

inline Act() {
	d_step {
		alive && line != 0 ->
		require(db.status == answered && line == db.answer, claude_hears_the_stored_answer);
		if
		:: call == cancelled -> skip
		:: else ->
			require(call == asking, claude_acts_once);
			call = acting
		fi;
		line = 0
	}
}

inline Finish() {
	d_step {
		alive && call == acting && line == 0 ->
		call = finished
	}
}

/* ======== people: any server takes any answer ======== */

byte told; /* the answer whose tab was told "applied" */

#ifdef NO_POLL
inline notify(s, heard) {
	server[s].notified = (server[s].stage == ready && heard -> 1 : server[s].notified)
}
#else
#define notify(s, heard) skip
#endif

#ifdef BLIND_ANSWER
bit checked; /* for the second tab: the row was open */
#endif

/* replied: the tab gets the reply. heard: the servers get the notification. */
inline Answer(mine, replied, heard) {
	d_step {
		(isUp(0) || isUp(1)) && answerable ->
		db.status = answered;
		db.delivery = queued;
		db.answer = mine;
		answerCommitted;
		notify(0, heard);
		notify(1, heard);
		if
		:: replied -> told = mine
		:: else -> skip
		fi
	}
}

#ifdef BLIND_ANSWER
inline Check() {
	d_step { (isUp(0) || isUp(1)) && answerable && !checked -> checked = 1 }
}
inline AnswerBlindly(mine) {
	d_step {
		checked ->
		checked = 0;
		db.status = answered;
		db.answer = mine
	}
}
#endif

#ifdef DELIVER_BEFORE_COMMIT
/* The server that takes the answer also drives the runner, and is quick. */
inline Hurry(s, mine) {
	d_step {
		server[s].stage == ready && reaches(s) && db.status == open && frame[s].epoch == 0 ->
		frame[s].answer = mine;
		frame[s].epoch = server[s].epoch
	}
}
#endif

/* ======== what nobody can rely on ======== */

inline Ask() {
	d_step { alive && call == idle -> call = asking }
}

inline Cancel() {
	d_step { alive && call == asking -> call = cancelled }
}

#define triesAgain(s) server[s].stage = (server[s].stage == attaching -> leased : server[s].stage)

inline ProcessDies() {
	d_step {
		alive ->
		alive = 0;
		line = 0;
		drop(0);
		drop(1);
		triesAgain(0);
		triesAgain(1)
	}
}

/* lost: with what was on its way. */
inline Cut(lost) {
	d_step {
		mayFail && link != nobody && (!lost || frame[link].epoch != 0) ->
		faults++;
		if
		:: lost ->
			drop(link)
		:: else -> skip
		fi;
		link = nobody
	}
}

/* Its shims go on, and so does what it gave them. */
inline RunnerDies() {
	d_step {
		mayFail && runnerUp ->
		faults++;
#ifdef KEYS_IN_RUNNER
		key = 0;
#endif
#ifdef FENCE_IN_RUNNER
		fence = 0;
#endif
		runnerUp = 0;
		link = nobody
	}
}

inline ServerDies(s) {
	d_step {
		mayFail && isUp(s) ->
		faults++;
		forget(s);
		server[s].epoch = 0;
		server[s].stage = down
	}
}

inline ServerStarts(s) {
	d_step { !isUp(s) -> server[s].stage = up }
}

#ifdef FAILOVER
inline Replicate() {
	d_step {
		standby.epoch != db.epoch || standby.status != db.status || standby.delivery != db.delivery || standby.mark != db.mark || standby.running != db.running || standby.answer != db.answer ->
		copy(standby, db)
	}
}

#ifdef NO_RECOVERED
#define recovered(s) skip
#else
#define recovered(s) server[s].stage = (server[s].stage == ready -> attached : server[s].stage)
#endif

/* The standby takes over. Whoever was connected asks its CLIs again what is open. */
inline FailOver() {
	d_step {
		mayFail ->
		faults++;
		copy(db, standby);
		recovered(0);
		recovered(1)
	}
}
#endif

/* ======== who does what ======== */

proctype Serve(byte s) {
end:
	do
	:: TakeLease(s)
	:: Attach(s)
	:: Read(s)
	:: Hear(s)
	:: Reconcile(s)
	:: CommitJournal(s)
	:: Write(s)
	:: SetDelivery(s)
	:: Orphan(s)
	:: StepDown(s)
#ifdef COMPARES_FIRST
	:: d_step { drives(s) && !server[s].sure && server[s].epoch == db.epoch -> server[s].sure = 1 }
#endif
#ifdef EXPIRED_IS_DEAD
	:: GiveUp(s)
#endif
	od
}

proctype Runner() {
end:
	do
	:: Dial(0)
	:: Dial(1)
#ifndef NO_PING
	:: Hangup()
#endif
	:: RunnerStarts()
	od
}

proctype Shim() {
end:
	do
	:: TakeFrame(0)
	:: TakeFrame(1)
	:: Act()
	:: Finish()
	od
}

proctype Person() {
end:
	do
	:: Answer(1, true, true)
	od
}

proctype Systemd() {
end:
	do
	:: ServerStarts(0)
	:: ServerStarts(1)
	od
}

proctype World() {
end:
	do
	:: Ask()
	:: Cancel()
	:: ProcessDies()
	:: Answer(1, false, true)
	:: Answer(2, true, true)
	:: Answer(2, false, true)
#ifdef NO_POLL
	:: Answer(1, true, false)
#endif
	:: Cut(0)
	:: Cut(1)
	:: RunnerDies()
	:: ServerDies(0)
	:: ServerDies(1)
#ifdef FAILOVER
	:: Replicate()
	:: FailOver()
#endif
#if defined(SERVER_CLOCK) || defined(COMPARES_FIRST)
	:: d_step { server[0].sure -> server[0].sure = 0 }
	:: d_step { server[1].sure -> server[1].sure = 0 }
#endif
#ifdef BLIND_ANSWER
	:: Check()
	:: AnswerBlindly(2)
#endif
#ifdef DELIVER_BEFORE_COMMIT
	:: Hurry(0, 2)
	:: Hurry(1, 2)
#endif
#ifdef LIVENESS
	:: faults <= FAULTS /* always: none of this has to happen */
#endif
	od
}

/* ======== what must hold in every state ======== */

proctype Monitor() {
end:
	do
	:: atomic { told != 0 && (db.status != answered || db.answer != told) -> assert(no_answer_is_lost) }
	:: atomic { fence > db.epoch -> assert(epochs_only_grow) }
	:: atomic { db.status == orphaned && alive -> assert(unreachable_is_not_dead) }
	od
}

init {
	atomic {
		run Serve(0);
		run Serve(1);
		run Runner();
		run Shim();
		run Person();
		run Systemd();
		run World();
		run Monitor()
	}
}

/* ======== what must happen, when faults end ======== */

#ifdef LIVENESS
#define settled (db.delivery == delivered || db.delivery == consumed || db.delivery == dropped || db.status == withdrawn)

/* Whatever server took the answer and whichever died then, Claude gets it. */
ltl answered_is_delivered {
	[] (db.delivery == queued -> <> (settled || !alive))
}
/* Whatever Claude asks is put before a person, who answers, or it is withdrawn. */
ltl asked_is_settled {
	[] (call == asking -> <> (settled || !alive || call == cancelled && db.status == none))
}
#ifndef FAILOVER
/* And the store learns what became of it. */
ltl end_is_known {
	[] (call == finished -> <> (db.delivery == consumed || !alive))
}
#endif
ltl death_is_known {
	[] (!alive && db.status == open -> <> (db.status != open))
}
#endif
