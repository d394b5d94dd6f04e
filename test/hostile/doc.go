// Package hostile tests a provider that does its worst next to a good one. Between them is the manager that
// is shipped, under the roles that are shipped.
//
// The hostile provider is a real API server behind a front that the test runs. The front speaks HTTP/2 and
// TLS as an API server does. During an attack, the front itself answers. It sends endless lists, watches and
// pages, bodies that unpack to a thousand times their size, or a few bytes that decode to gigabytes. Or it
// does not answer at all.
//
// For each attack, the test checks three things, and all of them are counts:
//
//   - The ClusterBinding of the hostile provider says what is wrong.
//   - The heap of the whole process, including this test's clients, stays below 256 MiB. The
//     budget of the hostile provider is 33 MiB at first, and each new connection adds one MiB.
//   - The good provider gets exactly the same requests as without an attack, none of its
//     watches begins again, and its pods come and go.
//
// Two more attacks use what a provider may do: statuses that change all the time, and pods that it ends as
// soon as they come. For these, the test counts the writes in the consumer, and the pods that are sent. In a
// third one, a namespace claims to stand for a namespace that never asked for it. A deletion in the consumer
// must still end.
//
// One attack comes from the other side: the ConfigMaps of a team in the consumer are larger than the heap may
// be.
//
// The log shows how long the pods of the good provider take, with and without an attack. These times decide
// nothing.
package hostile
