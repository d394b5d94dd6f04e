// Package hostile puts a provider that does its worst next to one that is good,
// with the manager that is shipped between them, under the roles that are shipped.
//
// The hostile one is a real API server behind a front of the test's, which speaks
// HTTP/2 and TLS as that does, and answers in its place for as long as an attack
// lasts: with lists, watches and pages without an end, with bodies that unpack a
// thousand times larger, with a few bytes that decode to gigabytes, or not at all.
//
// Of each attack three things are asserted, all of them counts:
//
//   - The ClusterBinding of the hostile provider says what is wrong.
//   - The heap of the whole process, this test's clients in it, stays below 256 MiB.
//     The budget of the hostile provider is 33 MiB, and one more for each attack.
//   - The good provider is asked for exactly what it is asked for when all is
//     calm, no watch of it begins anew, and its pods come and go.
//
// Two more are made of what a provider may do: statuses that change all the time, and
// pods that it ends as soon as they come. What is counted of these is what is written
// in the consumer, and how many pods are sent. In a third, a namespace claims to stand for
// one that never asked for it: a deletion in the consumer ends all the same.
//
// One comes from the other side: a team of the consumer that has more in ConfigMaps
// than the heap may take.
//
// How long those pods take is written into the log, beside how long they take
// when all is calm, and decides nothing.
package hostile
