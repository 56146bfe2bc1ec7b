/* Sudoku puzzles: measure difficulty, make random and hard puzzles.

   A puzzle has n = rows * columns symbols, where a box has `rows` rows and `columns` columns of
   cells (3 x 3 for the ordinary kind, 4 x 4 for 16 symbols). A cell holds 0 (empty) or a symbol
   1..n. Every function takes a seed, which is not 0, and gives the same puzzles for the same seed.

   The plain solver fills naked singles (a cell with one candidate) and hidden singles (a symbol
   with one place in a row, column or box) until nothing is left to fill, then guesses in a cell of
   the fewest candidates, ties broken at random. Its guesses are the difficulty of a puzzle.

   Hard puzzles are found by a walk that exchanges one given for another: after one is dropped, all
   solutions are listed, and a cell where only one of them has its symbol makes that solution the
   only one. The walk goes on to a puzzle that takes as many guesses, or a little fewer.
*/

#include <stdint.h>
#include <string.h>

#define MOST 25             /* symbols */
#define CELLS (MOST * MOST)
#define UNITS (3 * MOST)    /* rows, columns and boxes */
#define DONE 200            /* see State */
#define NO_LIMIT (1L << 40) /* guesses */
#define REPEATS 5           /* random orders that a difficulty is the mean of */

/* Settings of the climb, chosen by short trials of 24 to 120 walks each; others do about as well. */
#define ROOM 512   /* with more solutions after a given is dropped, another is dropped instead */
#define CHILDREN 4 /* puzzles looked at for one dropped given */
#define SLACK 80   /* per cent of the guesses that the next puzzle of a walk has to take */
#define MORE 8     /* once a puzzle of a level is kept, this part of the tries is left for another */
#define APART 6    /* cells in which puzzles of one level of one family differ */

typedef uint32_t Set; /* of symbols: bit v - 1 stands for symbol v */

typedef struct {
    int n, cells;
    Set all;               /* every symbol */
    uint8_t in[CELLS][3];  /* the row, column and box of every cell */
    int unit[UNITS][MOST]; /* the cells of every row, column and box */
    int num_peers;
    int peers[CELLS][3 * MOST]; /* the other cells of the units of a cell */
} Board;

/* What is known while solving. A symbol that has its place in a unit has DONE or nearly as many
   places left there, so that its count never comes down to 1. */
typedef struct {
    int empty;
    Set options[CELLS];           /* symbols that a cell may still hold */
    uint8_t value[CELLS];         /* 0 for an empty cell */
    uint8_t places[UNITS * MOST]; /* [unit * n + symbol - 1]: cells of a unit left for a symbol */
} State;

/* Singles that are not filled yet: a cell, or CELLS + unit * n + symbol - 1. */
typedef struct {
    int count;
    int event[CELLS + UNITS * MOST];
} Singles;

typedef struct {
    const Board *board;
    uint64_t *random;
    uint8_t *solutions; /* where those found go, or null */
    int found, wanted;
    long guesses, most_guesses;
} Search;

static uint64_t next(uint64_t *random) { /* xorshift64* */
    uint64_t x = *random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *random = x;
    return x * 0x2545F4914F6CDD1DULL;
}

static int below(uint64_t *random, int count) {
    return (int)(((next(random) >> 32) * (uint64_t)count) >> 32);
}

static void shuffle(uint64_t *random, int *items, int count) {
    for (int i = count - 1; i > 0; i--) {
        int j = below(random, i + 1), kept = items[i];
        items[i] = items[j];
        items[j] = kept;
    }
}

static void make_board(Board *board, int rows, int columns) {
    int n = rows * columns, filled[UNITS] = {0};
    board->n = n;
    board->cells = n * n;
    board->all = ((Set)1 << n) - 1;
    for (int cell = 0; cell < n * n; cell++) {
        int r = cell / n, c = cell % n;
        int units[3] = {r, n + c, 2 * n + (r / rows) * rows + c / columns};
        for (int k = 0; k < 3; k++) {
            board->in[cell][k] = (uint8_t)units[k];
            board->unit[units[k]][filled[units[k]]++] = cell;
        }
    }
    for (int cell = 0; cell < n * n; cell++) {
        board->num_peers = 0;
        for (int other = 0; other < n * n; other++) {
            const uint8_t *a = board->in[cell], *b = board->in[other];
            if (other != cell && (a[0] == b[0] || a[1] == b[1] || a[2] == b[2]))
                board->peers[cell][board->num_peers++] = other;
        }
    }
}

static void copy_state(const Board *board, State *to, const State *from) {
    size_t cells = (size_t)board->cells;
    to->empty = from->empty;
    memcpy(to->options, from->options, cells * sizeof(Set));
    memcpy(to->value, from->value, cells);
    memcpy(to->places, from->places, 3 * cells);
}

/* Count that a cell no longer holds a symbol; 0 where the symbol has no place left in a unit. */
static inline int lose_place(const Board *board, State *state, int cell, int symbol, Singles *singles) {
    for (int k = 0; k < 3; k++) {
        int place = board->in[cell][k] * board->n + symbol;
        int left = --state->places[place];
        if (!left) return 0;
        if (left == 1) singles->event[singles->count++] = CELLS + place;
    }
    return 1;
}

/* Take a symbol from an empty cell that may hold it; 0 where nothing is left. */
static inline int take_away(const Board *board, State *state, int cell, Set bit, Singles *singles) {
    Set left = state->options[cell] &= ~bit;
    if (!left) return 0;
    if (!(left & (left - 1))) singles->event[singles->count++] = cell;
    return lose_place(board, state, cell, __builtin_ctz(bit), singles);
}

/* Fill a cell; 0 where that leaves a cell without a symbol or a symbol without a place. */
static int place(const Board *board, State *state, int cell, Set bit, Singles *singles) {
    int symbol = __builtin_ctz(bit);
    if (!(state->options[cell] & bit)) return 0;
    state->value[cell] = (uint8_t)(symbol + 1);
    state->empty--;
    for (int k = 0; k < 3; k++) state->places[board->in[cell][k] * board->n + symbol] = DONE;
    for (Set rest = state->options[cell] & ~bit; rest; rest &= rest - 1)
        if (!lose_place(board, state, cell, __builtin_ctz(rest), singles)) return 0;
    state->options[cell] = bit;
    for (int k = 0; k < board->num_peers; k++) {
        int peer = board->peers[cell][k];
        if (state->options[peer] & bit && !take_away(board, state, peer, bit, singles)) return 0;
    }
    return 1;
}

/* Fill every single; 0 where a cell or a symbol has no place left. */
static int fill_singles(const Board *board, State *state, Singles *singles) {
    while (singles->count) {
        int event = singles->event[--singles->count], cell = event;
        Set bit;
        if (event < CELLS) {
            if (state->value[cell]) continue;
            bit = state->options[cell];
        } else {
            int unit = (event - CELLS) / board->n, k = 0;
            bit = (Set)1 << ((event - CELLS) % board->n);
            if (state->places[event - CELLS] != 1) continue; /* filled since */
            while (!(state->options[board->unit[unit][k]] & bit)) k++;
            cell = board->unit[unit][k];
        }
        if (!place(board, state, cell, bit, singles)) return 0;
    }
    return 1;
}

/* Begin with the givens of a puzzle; 0 where they contradict each other. */
static int read_givens(const Board *board, State *state, const uint8_t *puzzle) {
    Set used[UNITS] = {0};
    memset(state->places, 0, (size_t)(3 * board->cells));
    memcpy(state->value, puzzle, (size_t)board->cells);
    state->empty = board->cells;
    for (int cell = 0; cell < board->cells; cell++) {
        const uint8_t *in = board->in[cell];
        if (!puzzle[cell]) continue;
        Set bit = (Set)1 << (puzzle[cell] - 1);
        if ((used[in[0]] | used[in[1]] | used[in[2]]) & bit) return 0;
        for (int k = 0; k < 3; k++) {
            used[in[k]] |= bit;
            state->places[in[k] * board->n + puzzle[cell] - 1] = DONE;
        }
        state->options[cell] = bit;
        state->empty--;
    }
    for (int cell = 0; cell < board->cells; cell++) {
        const uint8_t *in = board->in[cell];
        if (puzzle[cell]) continue;
        state->options[cell] = board->all & ~(used[in[0]] | used[in[1]] | used[in[2]]);
        for (Set rest = state->options[cell]; rest; rest &= rest - 1)
            for (int k = 0; k < 3; k++) state->places[in[k] * board->n + __builtin_ctz(rest)]++;
    }
    return 1;
}

/* Begin with the givens of a puzzle and every single; 0 where they contradict each other. */
static int read_state(const Board *board, State *state, const uint8_t *puzzle) {
    Singles singles;
    singles.count = 0;
    if (!read_givens(board, state, puzzle)) return 0;
    for (int cell = 0; cell < board->cells; cell++) {
        Set options = state->options[cell];
        if (!options) return 0;
        if (!puzzle[cell] && !(options & (options - 1))) singles.event[singles.count++] = cell;
    }
    for (int place = 0; place < 3 * board->cells; place++) {
        if (!state->places[place]) return 0;
        if (state->places[place] == 1) singles.event[singles.count++] = CELLS + place;
    }
    return fill_singles(board, state, &singles);
}

static int choose_cell(const Board *board, const State *state, uint64_t *random) {
    int tied[CELLS], fewest = MOST + 1, ties = 0;
    for (int cell = 0; cell < board->cells; cell++) {
        if (state->value[cell]) continue;
        int count = 0;
        Set rest = state->options[cell];
        for (; rest && count <= fewest; rest &= rest - 1) count++;
        if (count < fewest) {
            fewest = count;
            ties = 0;
        }
        if (count == fewest) tied[ties++] = cell;
    }
    return tied[below(random, ties)];
}

/* Search on from a state in which every single is filled. */
static void search(Search *s, State *state) {
    if (!state->empty) {
        size_t cells = (size_t)s->board->cells;
        if (s->solutions) memcpy(s->solutions + (size_t)s->found * cells, state->value, cells);
        s->found++;
        return;
    }
    Singles singles;
    int cell = choose_cell(s->board, state, s->random);
    Set options = state->options[cell];
    while (options && s->found < s->wanted && s->guesses < s->most_guesses) {
        int pick = below(s->random, __builtin_popcount(options));
        Set rest = options;
        while (pick--) rest &= rest - 1;
        Set bit = rest & -rest;
        options &= ~bit;
        State guess;
        copy_state(s->board, &guess, state);
        s->guesses++;
        singles.count = 0;
        if (place(s->board, &guess, cell, bit, &singles) && fill_singles(s->board, &guess, &singles))
            search(s, &guess);
    }
}

static Search run_search(const Board *board, const uint8_t *puzzle, uint8_t *solutions, int wanted,
                         long most_guesses, uint64_t *random) {
    State state;
    Search s = {board, random, solutions, 0, wanted, 0, most_guesses};
    if (read_state(board, &state, puzzle)) search(&s, &state);
    return s;
}

/* Whether the puzzle, known to have a solution with `value` in `cell`, has one with another. */
static int has_other(const Board *board, const uint8_t *puzzle, int cell, uint8_t value, uint64_t *random) {
    State state;
    uint8_t without[CELLS];
    memcpy(without, puzzle, (size_t)board->cells);
    without[cell] = 0;
    Singles singles;
    Set bit = (Set)1 << (value - 1);
    if (!read_state(board, &state, without) || state.value[cell]) return 0;
    singles.count = 0;
    if (!take_away(board, &state, cell, bit, &singles)) return 0;
    if (!fill_singles(board, &state, &singles)) return 0;
    Search s = {board, random, 0, 0, 1, 0, NO_LIMIT};
    search(&s, &state);
    return s.found;
}

/* Take away givens in random order while the solution stays the only one, down to `fewest`. */
static int reduce(const Board *board, uint8_t *puzzle, int fewest, uint64_t *random) {
    int order[CELLS], givens = 0;
    for (int cell = 0; cell < board->cells; cell++) {
        order[cell] = cell;
        givens += puzzle[cell] != 0;
    }
    shuffle(random, order, board->cells);
    for (int k = 0; k < board->cells && givens > fewest; k++) {
        int cell = order[k];
        if (!puzzle[cell] || has_other(board, puzzle, cell, puzzle[cell], random)) continue;
        puzzle[cell] = 0;
        givens--;
    }
    return givens;
}

static void random_solution(const Board *board, uint8_t *solution, uint64_t *random) {
    uint8_t start[CELLS] = {0};
    int symbols[MOST];
    do { /* a first row in random order; a search that takes too long is begun again */
        memset(start, 0, (size_t)board->cells);
        for (int k = 0; k < board->n; k++) symbols[k] = k + 1;
        shuffle(random, symbols, board->n);
        for (int k = 0; k < board->n; k++) start[k] = (uint8_t)symbols[k];
    } while (!run_search(board, start, solution, 1, 2000, random).found);
}

/* Guesses of the plain solver to find the solution and to prove that there is no other: the mean
   over REPEATS random orders. */
static float mean_guesses(const Board *board, const uint8_t *puzzle, uint64_t *random) {
    long total = 0;
    for (int k = 0; k < REPEATS; k++) total += run_search(board, puzzle, 0, 2, NO_LIMIT, random).guesses;
    return (float)total / REPEATS;
}

/* The difficulty of `count` puzzles: mean guesses, of which none depends on the puzzles before. */
void measure(int rows, int columns, const uint8_t *puzzles, int count, uint64_t seed, float *guesses) {
    Board board;
    make_board(&board, rows, columns);
    for (int k = 0; k < count; k++) {
        uint64_t random = seed;
        guesses[k] = mean_guesses(&board, puzzles + (size_t)k * (size_t)board.cells, &random);
    }
}

/* `count` puzzles with one solution each and `fewest` to `most` givens, every number as likely; with
   0 for both, minimal puzzles, of which no given can be taken away. */
void generate(int rows, int columns, int count, int fewest, int most, uint64_t seed, uint8_t *puzzles,
              uint8_t *solutions) {
    Board board;
    make_board(&board, rows, columns);
    uint64_t random = seed;
    for (int k = 0; k < count; k++) {
        uint8_t *puzzle = puzzles + (size_t)k * (size_t)board.cells;
        uint8_t *solution = solutions + (size_t)k * (size_t)board.cells;
        int wanted = fewest + below(&random, most - fewest + 1), givens;
        do { /* again where a puzzle became minimal with more givens than wanted */
            random_solution(&board, solution, &random);
            memcpy(puzzle, solution, (size_t)board.cells);
            givens = reduce(&board, puzzle, wanted, &random);
        } while (wanted && givens > wanted);
    }
}

/* A given that leaves one solution: `cell` as in solution number `owner` of those found. */
typedef struct {
    int cell, owner;
} Added;

/* The givens that would leave one of all the `found` solutions of a puzzle, and so make it unique. */
static int list_added(const Board *board, const uint8_t *puzzle, const uint8_t *solutions, int found,
                      Added *added) {
    int count = 0;
    for (int cell = 0; cell < board->cells; cell++) {
        int times[MOST + 1] = {0}, owner[MOST + 1];
        if (puzzle[cell]) continue;
        for (int k = 0; k < found; k++) {
            uint8_t value = solutions[(size_t)k * (size_t)board->cells + (size_t)cell];
            times[value]++;
            owner[value] = k;
        }
        for (int value = 1; value <= board->n; value++)
            if (times[value] == 1) added[count++] = (Added){cell, owner[value]};
    }
    return count;
}

static void drop_given(const Board *board, uint8_t *puzzle, uint64_t *random) {
    int cell;
    do cell = below(random, board->cells);
    while (!puzzle[cell]);
    puzzle[cell] = 0;
}

static long count_guesses(const Board *board, const uint8_t *puzzle, uint64_t *random) {
    return run_search(board, puzzle, 0, 2, NO_LIMIT, random).guesses;
}

/* Where a walk over puzzles stands. */
typedef struct {
    const Board *board;
    uint64_t *random;
    uint8_t puzzle[CELLS], solution[CELLS];
    long guesses; /* of one search; the next puzzle may take a little fewer */
} Walk;

/* Exchange one given for another. Returns 1 where a puzzle came of it that took at least `level`
   guesses. `tries` goes down by the puzzles looked at. */
static int step(Walk *walk, long level, long *tries) {
    const Board *board = walk->board;
    size_t size = (size_t)board->cells;
    uint8_t solutions[ROOM * CELLS], base[CELLS], child[CELLS];
    Added added[CELLS * MOST];
    memcpy(base, walk->puzzle, size);
    drop_given(board, base, walk->random);
    int found = run_search(board, base, solutions, ROOM, NO_LIMIT, walk->random).found;
    int count = found < ROOM ? list_added(board, base, solutions, found, added) : 0;
    if (!count) --*tries;
    for (int k = 0; k < CHILDREN && count; k++) {
        Added chosen = added[below(walk->random, count)];
        const uint8_t *solution = solutions + (size_t)chosen.owner * size;
        --*tries;
        memcpy(child, base, size);
        child[chosen.cell] = solution[chosen.cell];
        if (!memcmp(child, walk->puzzle, size)) continue;
        long guesses = count_guesses(board, child, walk->random);
        if (guesses * 100 < walk->guesses * SLACK) continue;
        memcpy(walk->puzzle, child, size);
        memcpy(walk->solution, solution, size);
        walk->guesses = guesses;
        return guesses >= level;
    }
    return 0;
}

/* Whether a puzzle differs from each of `count` others in at least APART cells. */
static int is_apart(const Board *board, const uint8_t *puzzle, const uint8_t *others, int count) {
    for (int k = 0; k < count; k++, others += board->cells) {
        int different = 0;
        for (int cell = 0; cell < board->cells; cell++) different += puzzle[cell] != others[cell];
        if (different < APART) return 0;
    }
    return 1;
}

/* A family of hard puzzles: a walk from `start` through puzzles of at least `levels[0]` guesses, then
   `levels[1]` and so on, which keeps up to `most[i]` puzzles of level i. It goes on to the next level
   after them, or after `tries` puzzles in vain, or after fewer once it has kept one; it ends at a
   level that it does not reach. The puzzles of level i begin at number most[0] + ... + most[i - 1],
   and `kept[i]` says how many there are. */
void climb(int rows, int columns, const uint8_t *start, const int32_t *levels, const int32_t *most,
           int num_levels, long tries, uint64_t seed, uint8_t *puzzles, uint8_t *solutions,
           float *guesses, int32_t *kept) {
    Board board;
    make_board(&board, rows, columns);
    uint64_t random = seed;
    size_t size = (size_t)board.cells;
    Walk walk = {.board = &board, .random = &random};
    memcpy(walk.puzzle, start, size);
    walk.guesses = count_guesses(&board, start, &random);
    memset(kept, 0, (size_t)num_levels * sizeof *kept);
    for (int i = 0; i < num_levels; i++) {
        for (long left = tries; left > 0 && kept[i] < most[i];) {
            if (!step(&walk, levels[i], &left)) continue;
            uint8_t *minimal = puzzles + (size_t)kept[i] * size;
            memcpy(minimal, walk.puzzle, size); /* the walk itself keeps its number of givens */
            reduce(&board, minimal, 0, &random);
            if (!is_apart(&board, minimal, puzzles, kept[i])) continue;
            float mean = mean_guesses(&board, minimal, &random);
            if (mean < (float)levels[i]) continue;
            memcpy(solutions + (size_t)kept[i] * size, walk.solution, size);
            guesses[kept[i]++] = mean;
            left = tries / MORE;
        }
        if (!kept[i]) return;
        puzzles += (size_t)most[i] * size;
        solutions += (size_t)most[i] * size;
        guesses += most[i];
    }
}
