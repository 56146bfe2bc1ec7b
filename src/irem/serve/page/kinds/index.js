// The kinds of problems: how each is set, and how its answer is drawn.

import { bits } from "./bits.js";
import { graph, relation } from "./graph.js";
import { matrix, table, vectors } from "./matrix.js";
import { maze } from "./maze.js";
import { other } from "./other.js";
import { picture } from "./picture.js";
import { puzzle } from "./puzzle.js";

/*
 * A kind has
 *   hint                               one or two sentences on how to set a problem
 *   sizes, sizeName, plain, hard       sizes to choose from, what they are called, and the names of the two buttons
 *                                      for examples; each may be missing
 *   compared                           which panel (from 0) shows the exact answer beside it; the first by default
 *   own(size)                          an example {problem, label, places}, or null to ask the server, then without a size
 *   suits(problem), instead(size, hard)  whether the editor can show an example of the server, and one in place of those that it cannot
 *   empty(size)                        a problem to begin with
 *   edit(host, problem, tools)         fill `host` with an editor; `tools` has changed(), moved(), say(sentence) and
 *                                      model; return {problem(), clear?()}; problem() throws an Error with a sentence
 *   panels(problem, answer, context)   drawings of an answer as [{title, svg}], the main one first; `context` has
 *                                      model and editor
 */
const KINDS = { puzzle, maze, bits, graph, relation, matrix, table, vectors, picture, other };

export const kindOf = (model) => KINDS[model.kind] ?? other;
