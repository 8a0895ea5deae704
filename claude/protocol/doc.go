// Package protocol records what a Claude CLI says to its host, describes it, and compares it
// with the schema in docs/protocol and with other versions.
//
// [Record] plays the host in a fixed list of conversations with one CLI, on a scripted model.
// [Schema.Inspect] says what a line contains and what of it the schema does not know.
// [Observed] is what one version was seen to say and do; [Diff] compares two.
package protocol
