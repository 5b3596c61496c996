/* The FIFO protocol (core/include/dcgn/message/packet.hpp, fifo.hpp)
   for every interleaving, without end.

   A ring of `ring` packets, one sender, one receiver. Each packet is stored as a whole with its epoch; stores to different
   packets are seen in any order, and so is what the receiver gives back as credit. Positions count packets without end
   modulo 2^32, here modulo `positions`, so that they wrap. A message is a header and up to `most` - 1 packets more.

   Checked: each packet comes once, in order, with what was sent (assertions); nothing is overwritten that has not been
   taken (assertion); the two never wait for each other for good (no invalid end state).

   DEFECT plants one fault, which must be found: core/tests/model/check.sh. */

#ifndef DEFECT
#define DEFECT 0
#endif
#ifndef ring
#define ring 4
#endif
#define positions (4 * ring)
#define batch (ring / 4)
#define most (ring / 2)
#define sequence 7 /* packets are numbered modulo this, which has no factor in common with `positions` */

#define ahead(a, b) ((a - b + positions) % positions) /* how far a is ahead of b */
#if DEFECT == 1 /* the epoch is not looked at: what was there before passes for new */
#define is_new(at) true
#else
#define is_new(at) (packet[at % ring].epoch == epoch_of(at))
#endif
#if DEFECT == 2 /* all turns have the same epoch */
#define epoch_of(at) 1
#else
#define epoch_of(at) (at / ring + 1)
#endif

typedef Cell {
  byte data;   /* its number */
  byte length; /* of the message, in a header; else 0 */
  byte epoch   /* 0: never written */
}

Cell packet[ring];
Cell under_way[ring]; /* stores that have not been seen yet */
bool is_under_way[ring];
byte credit;           /* as the sender sees it: packets taken, a position */
byte credit_under_way; /* as the receiver has written it */
byte taken;            /* up to this position packets have been taken in fact */

#define room (ring - ahead(tail, known))

inline store(position, its_data, its_length) {
  assert(ahead(position, taken) < ring); /* what was there has been taken */
  assert(!is_under_way[position % ring]);
  under_way[position % ring].data = its_data;
  under_way[position % ring].length = its_length;
  under_way[position % ring].epoch = epoch_of(position);
  is_under_way[position % ring] = true
}

active proctype Sender() {
  byte tail = 0, known = 0, number = 0, packets, length, k, at;
  do
  :: atomic {
       packets = 1;
       do
       :: packets < most -> packets++
       :: break
       od
     }
#if DEFECT == 3 /* room is taken for granted */
     skip;
#elif DEFECT == 4 /* one packet of room is enough to begin */
     do
     :: room >= 1 -> break
     :: else -> atomic { known != credit -> known = credit }
     od;
#else
     do
     :: room >= packets -> break
     :: else -> atomic { known != credit -> known = credit }
     od;
#endif
     k = 0;
     do
     :: k < packets ->
        atomic {
          at = (tail + k) % positions;
          length = (k == 0 -> packets : 0);
          store(at, number, length);
          number = (number + 1) % sequence;
          k++
        }
     :: else -> break
     od;
     atomic {
       tail = (tail + packets) % positions;
       packets = 0;
       length = 0;
       k = 0;
       at = 0
     }
  od
}

active proctype Receiver() {
  byte head = 0, given = 0, number = 0, packets, k, at;
  do
  :: atomic {
       is_new(head);
       packets = packet[head % ring].length;
       assert(packets >= 1 && packets <= most)
     };
     k = 0;
     do
     :: k < packets ->
        atomic {
          at = (head + k) % positions;
#if DEFECT == 5 /* the packets behind a header are read without a look at their epochs */
          (k > 0 || is_new(at));
#else
          is_new(at);
#endif
          assert(packet[at % ring].data == number);
          number = (number + 1) % sequence;
#if DEFECT != 6
          taken = (at + 1) % positions;
#endif
          k++
        }
#if DEFECT == 6 /* credit goes back before the packets have been taken */
        if
        :: k == 1 && packets > 1 -> credit_under_way = (head + packets) % positions
        :: else
        fi;
        if
        :: k == packets -> taken = (head + packets) % positions
        :: else
        fi
#endif
     :: else -> break
     od;
     atomic {
       head = (head + packets) % positions;
       packets = 0;
       k = 0;
       at = 0
     };
#if DEFECT == 7 /* credit for no less than a ring */
#define least ring
#else
#define least batch
#endif
     if
     :: ahead(head, given) >= least ->
        atomic {
          given = head;
#if DEFECT == 8 /* a credit is lost now and then */
          if
          :: credit_under_way = head
          :: skip
          fi
#else
          credit_under_way = head
#endif
        }
     :: else
     fi
  od
}

/* Memory: lets each side see the other's stores, sooner or later and in any order. */
inline reveal(c) {
  atomic {
    is_under_way[c];
    packet[c].data = under_way[c].data;
    packet[c].length = under_way[c].length;
    packet[c].epoch = under_way[c].epoch;
    under_way[c].data = 0;
    under_way[c].length = 0;
    under_way[c].epoch = 0;
    is_under_way[c] = false
  }
}

active proctype Memory() {
end:
  do
  :: reveal(0)
  :: reveal(1)
  :: reveal(2)
  :: reveal(3)
#if ring == 8
  :: reveal(4)
  :: reveal(5)
  :: reveal(6)
  :: reveal(7)
#endif
  :: atomic { credit != credit_under_way -> credit = credit_under_way }
  od
}
