// Package protocol records the lines that a Claude CLI exchanges with its host, describes them, and
// compares them with the schema in docs/protocol and with other versions.
//
// [Record] plays the host in a fixed list of conversations with one CLI, on a scripted model.
// [Schema.Inspect] reports what lines contain, and which parts the schema does not describe.
// [Observed] contains what several versions sent and did; [Observed.Diff] compares a recording with
// one of them.
package protocol
