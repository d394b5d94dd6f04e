// Package crash kills the manager, which runs as its own process, in the middle of its work, again and again.
// In the end, the result must be the same as if nothing had happened.
//
// The clusters are real. The manager is the program that is shipped, under the roles that are shipped. The
// test has its own watches, and they tell when to kill. They also record what happens to every namespace of
// the providers: none is created twice, and none is touched that is not Spillway's. In the providers, a
// scheduler and kwok run the pods. For these pods and the objects that they use, the watches record how many
// remote objects each local one has had, in all and at the same time.
package crash
