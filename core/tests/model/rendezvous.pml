/* How a long message is announced, and how either side gets its buffer back when the job is aborted
   (core/src/message/engine/copying.hpp, sending.hpp, engine.cpp, progress.hpp: take_back), for every interleaving.

   One acknowledgement word, used for one message after the other, each in a turn of its own. The receiver reads the
   sender's buffer; or asks the sender to store it in its own, who does, or leaves it to the receiver after all; or has
   it sent through the FIFO. The job may be aborted at any moment, which either side notices only where it waits.

   Checked: nobody touches a buffer whose owner has left the call (assertions); whoever waits goes on, or is told of the
   abort (no invalid end state).

   DEFECT plants one fault, which must be found: core/tests/model/check.sh. */

#ifndef DEFECT
#define DEFECT 0
#endif
#define turns 3

mtype = { none, pulling, pulled, withdrawn, accepted, asked };                /* answers, in the word */
mtype = { announced, placed, not_placed, data };                              /* headers, in the FIFO */

byte word_turn;
mtype answer = none;
chan fifo = [2] of { mtype, byte };
bool aborted, over;        /* over: nothing more is sent */
bool sending, receiving;   /* the buffers are lent */
bool at_sender, at_receiver; /* the other side is at them */

#if DEFECT == 1 /* an answer to an earlier use is taken for one to this */
#define answer_to(turn) answer
#else
#define answer_to(turn) (word_turn == turn -> answer : none)
#endif

inline say(turn, what) {
  atomic {
    word_turn = turn;
    answer = what
  }
}

/* compare_exchange() of an answer to this turn; `done` says whether. */
inline exchange(turn, before, after, done) {
  atomic {
    done = (answer_to(turn) == before);
    if
    :: done -> word_turn = turn; answer = after
    :: else
    fi
  }
}

inline take_back(turn) {
  do
  :: atomic {
#if DEFECT == 2 /* who is at the buffer is not waited for */
       (answer_to(turn) == none || answer_to(turn) == asked || answer_to(turn) == pulling);
#else
       (answer_to(turn) == none || answer_to(turn) == asked);
#endif
       word_turn = turn;
       answer = withdrawn
     };
     break
  :: answer_to(turn) == pulled || answer_to(turn) == withdrawn || answer_to(turn) == accepted -> break
  od
}

inline sender_leaves() {
  atomic {
    assert(!at_sender);
    sending = false
  }
}
inline receiver_leaves() {
  atomic {
    assert(!at_receiver);
    receiving = false
  }
}

active proctype Sender() {
  byte turn = 0;
  bool done, was_asked;
  do
  :: !aborted ->
     atomic {
       turn = (turn + 1) % turns;
       sending = true;
       was_asked = false
     };
     fifo!announced(turn);
     do
     :: answer_to(turn) == pulled -> sender_leaves(); break
     :: answer_to(turn) == accepted -> /* in pieces, each of which is copied into the FIFO */
        do
        :: fifo!data(turn) -> break
        :: aborted -> break
        od;
        sender_leaves();
        break
     :: answer_to(turn) == asked && !was_asked ->
        was_asked = true;
        if
        :: true -> /* stores it there */
#if DEFECT == 3 /* without a look whether the receiver is still there */
           done = true;
#else
           exchange(turn, asked, pulling, done);
#endif
           if
           :: done ->
              atomic {
                assert(receiving);
                at_receiver = true
              };
              atomic {
                assert(receiving);
                at_receiver = false
              };
              say(turn, pulled);
              do
              :: fifo!placed(turn) -> break
              :: aborted -> break
              od;
              sender_leaves();
              break
           :: else
           fi
        :: true ->
           do
           :: fifo!not_placed(turn) -> break
           :: aborted -> break
           od
        fi
     :: aborted -> take_back(turn); sender_leaves(); break
     od
  :: aborted -> break
  :: !aborted -> over = true; break
  od
}

/* The receiver reads the sender's buffer, for which the answer was `before`; then it leaves. */
inline read(turn, before, done) {
#if DEFECT == 4 /* without a look whether the sender is still there */
  done = true;
  say(turn, pulling);
#else
  exchange(turn, before, pulling, done);
#endif
  if
  :: done ->
     atomic {
       assert(sending);
       at_sender = true
     };
     atomic {
       assert(sending);
       at_sender = false
     };
     say(turn, pulled);
     receiver_leaves();
     goto next
  :: else -> aborted; receiver_leaves(); goto gone
  fi
}

active proctype Receiver() {
  byte turn;
  bool done;
next:
  receiving = true;
  do
  :: fifo?announced(turn) ->
     if
     :: read(turn, none, done)
     :: exchange(turn, none, pulling, done);
        if
        :: done ->
           say(turn, asked);
           do
           :: fifo?placed(turn) -> receiver_leaves(); goto next
           :: fifo?not_placed(turn) -> read(turn, asked, done)
           :: aborted ->
#if DEFECT != 5 /* the buffer is not taken back */
              take_back(turn);
#endif
              receiver_leaves();
              goto gone
           od
        :: else -> aborted; receiver_leaves(); goto gone
        fi
     :: say(turn, accepted);
        do
        :: fifo?data(turn) -> receiver_leaves(); goto next
        :: aborted -> receiver_leaves(); goto gone
        od
     fi
  :: aborted -> receiver_leaves(); goto gone
  :: over && empty(fifo) -> goto gone
  od;
gone:
  skip
}

active proctype Abort() {
  if
  :: aborted = true
  :: over -> skip
  fi
}
