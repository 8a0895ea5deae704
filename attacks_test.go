package sayso_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// attack is an attack that servers like this have suffered or must expect, with the
// defense against it: the tests that prove it, why the attack is impossible, or what is
// still missing. SECURITY.md describes the same to people.
type attack struct {
	number int
	what   string
	// proofs are tests: "package.TestName", followed by "/part" for a subtest whose
	// name contains part, or "file: name" in the web app.
	proofs []string
	cannot string
	open   string
}

func proved(number int, what string, proofs ...string) attack {
	return attack{number: number, what: what, proofs: proofs}
}

// mayBeOpen lists the attacks without a complete defense.
var mayBeOpen = []int{86}

var attackList = []attack{
	// Host, origin, requests that another site sends.
	proved(1, "DNS rebinding: a foreign host name that resolves to this server", "httpapi.TestEveryRouteRefuses/7.1 another host with its origin", "httpapi.TestHandlersOutsideTheRouteTableRefuseAttacks"),
	proved(2, "DNS rebinding on the WebSocket", "wsapi.TestUpgradeIsRefused/7.2"),
	proved(3, "DNS rebinding at the endpoints for agents", "httpapi.TestHandlersOutsideTheRouteTableRefuseAttacks", "cmd/sayso.TestAgentHandlers"),
	proved(4, "a missing host, two hosts, or another host in the request line", "httpapi.TestEveryRouteRefuses/7.4", "cmd/sayso.TestRawRequestsAreRefused/4 two hosts", "cmd/sayso.TestRawRequestsAreRefused/4 absolute address"),
	proved(5, "host names that resemble an allowed one", "httpapi.TestEveryRouteRefuses/7.5 decimal", "httpapi.TestAllowedHosts"),
	proved(6, "forwarded headers from an untrusted sender", "httpapi.TestForwardedHeadersOfStrangers", "httpapi.TestEveryRouteRefuses/7.6"),
	proved(7, "cross-site WebSocket hijacking with the cookie", "wsapi.TestUpgradeIsRefused/7.7"),
	proved(8, "a WebSocket with a cookie and no origin", "wsapi.TestUpgradeIsRefused/7.8"),
	proved(9, "the origin null", "wsapi.TestUpgradeIsRefused/7.9", "httpapi.TestEveryRouteRefuses/7.9", "httpapi.TestAgentHandlersRefusePages"),
	proved(10, "the origin of another port of this machine", "wsapi.TestUpgradeIsRefused/7.10", "httpapi.TestEveryRouteRefuses/7.10"),
	proved(11, "an http origin where the site uses https", "httpapi.TestBehindAProxy", "wsapi.TestUpgradeIsRefused/7.11"),
	proved(12, "origins that begin or end like the allowed one", "wsapi.TestUpgradeIsRefused/7.12", "httpapi.TestEveryRouteRefuses/7.12"),
	proved(13, "a cross-site form post with a text body", "httpapi.TestEveryRouteRefuses/7.13 form", "httpapi.TestEveryRouteRefuses/7.13 cross-site", "httpapi.TestAgentHandlersRefusePages"),
	proved(14, "a request from a same-site origin", "httpapi.TestEveryRouteRefuses/7.14"),
	proved(15, "CORS preflights", "httpapi.TestEveryRouteRefuses/7.15"),
	proved(16, "state changes by GET or HEAD", "httpapi.TestNothingChangesByLooking", "httpapi.TestEveryRouteRefuses/7.16"),
	proved(17, "method override headers", "httpapi.TestEveryRouteRefuses/7.17"),
	proved(18, "clickjacking: the app in a frame", "httpapi.TestHandlersOutsideTheRouteTableRefuseAttacks", "httpapi.TestEveryRouteRefuses"),
	proved(19, "a page that requests 0.0.0.0 and private networks", "httpapi.TestEveryRouteRefuses/7.5 any address"),
	proved(20, "session fixation: a sign-in that somebody else prepared", "httpapi.TestSignInTakesNoIdOfTheBrowsers", "httpapi.TestSigningInAgainEndsTheFormerSignIn", "httpapi.TestChallengesAreUsedOnce"),

	// Authentication.
	proved(21, "any route without a credential", "httpapi.TestEveryRouteRefuses/7.21", "httpapi.TestEveryRouteAndCommandHasItsPolicy"),
	proved(22, "an upgrade without a credential", "wsapi.TestUpgradeIsRefused/7.22"),
	proved(23, "addresses outside the route table", "httpapi.TestPathsThatAreNotThere", "httpapi.TestHandlersOutsideTheRouteTableRefuseAttacks", "cmd/sayso.TestAgentHandlers"),
	proved(24, "a server that is not set up yet", "httpapi.TestSetUp", "httpapi.TestSetUpThroughAProxy", "cmd/sayso.TestStartExplainsSetUp", "account.TestCredentialsRunOut"),
	proved(25, "default and published secrets", "account.TestFirstStartMakesOneAdmin", "account.TestKnownSecretsAreRefused"),
	proved(26, "signed tokens with another algorithm", "oidc.TestTokensThatAreRefused/no algorithm", "oidc.TestTokensThatAreRefused/signed with the secret"), // our tokens are random and looked up by hash
	proved(27, "expired credentials, and those of another server", "account.TestCredentialsRunOut", "account.TestSecretsOfOneKindAreNoneOfAnother", "httpapi.TestEveryRouteRefuses/7.27"),
	proved(28, "guessing of passwords, tokens and links", "httpapi.TestSignInIsLimited", "httpapi.TestGuessedTokensAreLimited", "account.TestGuessedTokensAreDelayed", "httpapi.TestAnAccountIsLimitedFromManyAddresses", "httpapi.TestFailedSignInsAreIndistinguishable", "httpapi.TestPasskeysThatAreRefused", "httpapi.TestSignInsAtAProviderThatAreRefused", "account.TestSignInLimiterCountsSimultaneousAttempts", "account.TestBootstrapToken"),
	proved(29, "loopback access in place of a credential", "httpapi.TestEveryRouteRefuses/7.29"),
	proved(30, "a public listener without TLS", "cmd/sayso.TestOpenWithoutEncryptionIsRefused", "httpapi.TestForwardedHeadersOfStrangers"),
	proved(31, "credentials in URLs", "httpapi.TestEveryRouteRefuses/7.31", "httpapi.TestLogKeepsNoSecretAndNoForgery"),
	proved(32, "a parameter that makes the web app connect elsewhere", "httpapi.TestEveryRouteRefuses", "frontend/src/account/SignIn.test.ts: does not redirect to"),
	proved(33, "identity headers from a proxy", "httpapi.TestEveryRouteRefuses/7.33"),
	proved(34, "WebSockets that outlive their sign-in", "httpapi.TestSignInEndsOnTheSocketOfItsBrowser", "httpapi.TestRevokedRightsEndInEveryAPI", "wsapi.TestSignInEndsOnOpenSockets", "httpapi.TestPasskeyEndsOnOpenSockets", "mcpapi.TestTokenOfADeadSessionIs401", "mcpapi.TestTokenThatEndsIsNoticedWithinASecond"),
	proved(35, "two people who set up the server at once", "httpapi.TestSetUpByPasskey", "account.TestSetUp", "account.TestSignInLinkWorksOnce"),

	// Authorization.
	proved(36, "a session of another project", "httpapi.TestRevokedRightsEndInEveryAPI", "httpapi.TestObjectsOfOthersAreNotFound", "httpapi.TestMembershipReachesOpenTabs", "project.TestWhoMayDoWhat"),
	proved(37, "answers from a viewer", "wsapi.TestRolesOnTheSocket", "httpapi.TestEveryRouteRefuses/7.37", "httpapi.TestRightsAndRulesOfAnswers"),
	proved(38, "a former admin on an open WebSocket", "httpapi.TestRevokedRightsEndInEveryAPI", "wsapi.TestSignInEndsOnOpenSockets/demoted", "wsapi.TestDemotedBetweenTwoCommands", "httpapi.TestMembershipReachesOpenTabs"),
	proved(39, "a request of another session", "httpapi.TestRequestOfAnotherSessionIsNoneAtAll", "httpapi.TestObjectsOfOthersAreNotFound"),
	proved(40, "an agent that reads another session", "mcpapi.TestSessionsNeverSeeEachOther", "mcpapi.TestTicketsOfOtherAgentsAreUnknown"),
	proved(41, "an agent that answers", "httpapi.TestTokenOfAnAgentIsNobody"),
	proved(42, "Claude approving its own calls", "cmd/sayso.TestClaudeOfAnotherUserCannotApproveItself", "cmd/sayso.TestTheServerReadsAsClaudesUser", "cmd/sayso.TestClaudeInASandboxCannotApproveItself", "httpapi.TestTokenOfAnAgentIsNobody", "shim.TestWrongTokenIsRefused", "store/sqlite.TestModesUnderAnyUmask"),
	proved(43, "mass assignment: fields that the sender may not set", "httpapi.TestEveryRouteRefuses/7.43"),
	proved(44, "guessable ids and secrets", "account.TestSecretsCannotBeGuessed", "httpapi.TestObjectsOfOthersAreNotFound"),

	// Answers.
	proved(45, "an answer to an earlier request", "wsapi.TestStaleAnswers", "pending.TestTwiccLateAnswerResolvedTheNextRequest"),
	proved(46, "an answer to an input that was not shown", "wsapi.TestStaleAnswers/another input"),
	{number: 47, what: "an input that was changed silently", cannot: "A changed input is an edit: it is stored as one and shown to everybody as approved with changes."},
	proved(48, "an edit that turns a call into one of another tool", "pending.TestApprovalsThatAreRefused"),
	proved(49, "answers that do not match the question", "pending.TestAnswersThatDoNotFitTheQuestions"),
	proved(50, "allow without an answer", "pending.TestAnEmptyAnswerToOptionalQuestionsIsNoAnswer", "pending.TestAnswersThatDoNotFitTheQuestions"),
	proved(51, "line breaks in an answer", "pending.TestAnAnswerCannotBreakOutOfItsLine"),
	proved(52, "an answer that looks like a control message", "pending.TestAnAnswerCannotBreakOutOfItsLine", "claude.TestAllowSendsWhatWasEditedAndGrantedOnOneLine"),
	proved(53, "a rule wider than the one shown", "pending.TestApprovalsThatAreRefused", "review.TestRulesThatAreTooWide"),
	proved(54, "an answer sent twice", "wsapi.TestRepeatedAnswer", "pending.TestAReplayedAnswerHasNoSecondEffect"),
	proved(55, "a form that changes under the pointer", "frontend/src/pending/decide.test.ts: waits a moment after the card appeared and after the window got the focus", "wsapi.TestStaleAnswers/another input"),

	// Processes and files.
	proved(56, "folders outside the workspace roots", "orchestrator.TestStartRefusesWhatCannotWork", "workspace.TestResolve", "workspace.TestListNeverLeavesItsRoot", "shim.TestFolderIsNotReplacedAfterTheCheck", "orchestrator.TestSessionOutsideTheRootsIsNotResumed"),
	proved(57, "values that are parsed as flags", "claude.TestArgsRefuseWhatCouldBeAFlag"),
	proved(58, "a prompt that is parsed as a flag", "claude.TestArgs"),
	proved(59, "environment variables set from outside", "claude.TestEnviron", "cmd/sayso.TestWhatTheServerGivesToClaude", "httpapi.TestEveryRouteRefuses/7.43"),
	proved(60, "settings, hooks and MCP servers in a repository", "cmd/sayso.TestNothingOfAHostileRepositoryRunsBeforeItIsTrusted", "orchestrator.TestAFolderIsTrustedBeforeTheFirstRun", "orchestrator.TestSettingsThatChangeBeforeTheExec", "orchestrator.TestNoAutomaticResumeInAChangedFolder", "claude/folder.TestEverythingTheCLILoadsIsFound", "httpapi.TestAFolderThatNobodyTrusts"),
	proved(61, "resuming a conversation of another project", "httpapi.TestObjectsOfOthersAreNotFound"),
	proved(62, "files that other users can read or placed there", "store/sqlite.TestModesUnderAnyUmask", "shim.TestModesOfFiles", "shim.TestStartRefusesAFolderThatIsThere"),
	proved(63, "another user at a shim's socket", "shim.TestWrongTokenIsRefused"),
	proved(64, "the server's secrets in Claude's environment and files", "cmd/sayso.TestWhatTheServerGivesToClaude", "shim.TestDescriptorsAndEnvironmentOfTheCLI", "claude.TestChildGetsNothingElse", "claude.TestEnviron"),
	proved(65, "path traversal and scripts in attachments", "httpapi.TestAttachmentsAreServedInert", "httpapi.TestAttachmentsThatAreRefused", "attachment.TestStoreAttachment"),

	// Agents.
	{number: 66, what: "the MCP session of another agent", cannot: "The server keeps no MCP sessions; each call is authenticated by its token."},
	proved(67, "an MCP session id without a token", "mcpapi.TestTokenOfADeadSessionIs401/67."),
	proved(68, "a token for another audience", "mcpapi.TestTokenOfADeadSessionIs401", "account.TestAgentTokens", "oidc.TestTokensThatAreRefused/another audience"),
	proved(69, "calls that violate the protocol", "mcpapi.TestMalformedRequests"),
	{number: 70, what: "forged state that a client hands back", cannot: "The server hands out none; a ticket is looked up in the session of its token."},
	proved(71, "a flood of questions", "mcpapi.TestFlood", "mcpapi.TestFloodOutlivesTheServer"),
	proved(72, "questions that pretend to come from somebody else", "mcpapi.TestHostileQuestions", "mcpapi.TestAskerIsNamed", "frontend/src/text/hidden.test.ts: an invisible character is named in its place"),
	proved(73, "results delivered to the wrong session", "mcpapi.TestSessionsNeverSeeEachOther"),
	proved(74, "ids of unusual types", "mcpapi.TestIDsComeBack"),

	// Load and parsing.
	proved(75, "slow headers and bodies", "cmd/sayso.TestSlowHeadersAreCutOff", "httpapi.TestNoBodyIsWaitedForLong", "httpapi.TestBodyThatNeverComes"),
	proved(76, "many idle connections", "cmd/sayso.TestConnectionsAreLimited"),
	proved(77, "oversized and malformed frames", "wsapi.TestMessagesThatEndTheConnection", "httpapi.TestFramesThatBreakTheProtocol", "httpapi.TestRawFramesThatAreRefused", "httpapi.TestPingFlood", "httpapi.TestAnnouncedMessagesKeepNobodyOut", "httpapi.TestLargeBodiesAreTakenInTurn"),
	proved(78, "deeply nested JSON and duplicate keys", "httpapi.TestEveryRouteRefuses/7.78 deep", "httpapi.TestEveryRouteRefuses/7.78 repeated", "httpapi.TestAMillionFields"),
	proved(79, "large headers", "cmd/sayso.TestRawRequestsAreRefused/79"),
	proved(80, "log injection", "httpapi.TestLogKeepsNoSecretAndNoForgery"),
	proved(81, "secrets in logs and metrics", "httpapi.TestLogKeepsNoSecretAndNoForgery", "shim.TestDescriptorsAndEnvironmentOfTheCLI"),
	proved(82, "metrics and profiles without the rights for them", "httpapi.TestEveryRouteRefuses/7.82 figures for a viewer", "httpapi.TestEveryRouteRefuses/7.82 figures for a member", "httpapi.TestEveryRouteRefuses/7.21", "httpapi.TestPathsThatAreNotThere"),
	proved(83, "text that is slow to render", "frontend/src/text/effort.test.ts: a megabyte of Markdown takes bounded effort, and few elements", "frontend/src/text/effort.test.ts: twice the text takes about twice the steps",
		"frontend/src/text/effort.test.ts: a megabyte creates few elements", "review.TestBounds"),
	proved(84, "markup in Claude's output", "frontend/src/text/markdown.test.ts: raw HTML is text", "frontend/src/text/markdown.test.ts: links lead to the web only, and show where"),
	proved(85, "an open redirect after sign-in", "frontend/src/account/SignIn.test.ts: does not redirect to"),
	{number: 86, what: "vulnerable dependencies", proofs: []string{"cmd/sayso.TestReleaseCanBeVerified"},
		open: "govulncheck found a vulnerability in a made-up database and none in an empty one; the real database and that of npm could not be reached where this was built. There is no release yet, and so no signing key to verify one with."},
	proved(87, "a modified audit log", "cmd/sayso.TestAuditTrail"),
	{number: 88, what: "path traversal in backups", cannot: "No API call creates a backup."},
	{number: 89, what: "timing side channels", proofs: []string{"httpapi.TestFailedSignInsAreIndistinguishable"}, cannot: "Secrets are found by hash and compared in constant time; no test measures time."},
	proved(90, "request smuggling by two lengths", "cmd/sayso.TestRawRequestsAreRefused/90 two lengths", "cmd/sayso.TestOneRequestIsNeverTwo", "cmd/sayso.TestBehindARealProxy"),
	proved(91, "server-side request forgery by notification addresses", "alert.TestAddressesInside", "httpapi.TestAlertsThatCannotBe"),

	// A command rated low.
	proved(92, "a command that writes or runs code but is rated low, so that a bulk approval includes it", "review.TestAttacksAreNotLow", "review.TestLowHasNoEffectInItsText", "review.TestEverydayIsLow", "httpapi.TestRiskAndBatch"),
	proved(93, "the same when executed: commands rated low run under observation", "review.TestLowCommandsOnlyRead", "review.TestExecutionIsWatched"),
	proved(94, "reading the server's files, or secrets through links, rated low", "review.TestPrivateIsNotLow", "decision.TestLevelFollowsLinks"),
	proved(95, "a spelling of a command that hides which programs it runs", "review.TestInvocationsFindProgram", "review.TestInvocationsIncomplete", "review.TestInvocationsFolders"),

	// Rules, and the approval by a second person.
	proved(96, "one person who approves twice: through a password, token, link or user created for the other approver, in either order, or with two tokens created by one person", "httpapi.TestSecondApprovalNeedsAnotherPerson", "httpapi.TestTwoTokensOfOnePersonAreOnePerson", "account.TestCredentialMakers"),
	proved(97, "a command, path or address reworded to avoid a project rule", "project.TestRewordedCommands", "project.TestNoRewordingEscapes", "project.TestUnreadCommandsMeetTheStrictestRule", "project.TestAllowRulesMustCoverTheWholeCommand", "project.TestFilesOfRules", "project.TestAddressesOfRules"),
	proved(98, "allowed tools at start, permissions granted with an approval, and permission modes that bypass a project rule", "httpapi.TestNothingLoosensRules"),
	proved(99, "settings files, earlier grants, subagents and skills that bypass a project rule", "cmd/sayso.TestRealClaudeAsksForWhatAProjectKeeps", "claude.TestRealCLIAsksWhenAHookSaysSo"),
	proved(100, "another name of the same path: symbolic links, /proc, ~, case, a parent folder", "project.TestFilesOfRules", "orchestrator/launch.TestDiskFollowsLinks"),
	proved(101, "a permission rule that sayso and Claude Code parse differently, or that takes unbounded time to match", "claude.TestRealCLIReadsRulesAsWeDo", "claude/rule.TestCovers", "claude/rule.TestGlobIsWhatItSays", "claude/rule.TestHostilePatterns"),

	// A card shows everything that it approves.
	proved(102, "a plan or question of which a part is not shown", "frontend/src/pending/shown.test.ts: shows every letter, digit and symbol that is approved, or names the line that it does not show", "frontend/src/pending/shown.test.ts: names each line that is not shown, and no other", "frontend/src/pending/shown.test.ts: lists what it does not show, whatever its name"),
	proved(103, "invisible, bidirectional and stacked characters in the text of a card", "frontend/src/pending/shown.test.ts: marks invisible and bidirectional characters in text and code", "frontend/src/text/hidden.test.ts: letters that are drawn as nothing are marked, in prose too"),
	proved(104, "a tool call field that its card does not know", "frontend/src/pending/shown.test.ts: shows each field of its input, including unknown ones", "frontend/src/pending/shown.test.ts: shows a known field with an unexpected value", "frontend/src/pending/shown.test.ts: an Edit that also has a list of edits shows the edit that runs"),
	proved(105, "a diff too large to compute, and approving text that was only scrolled past", "frontend/src/text/compare.test.ts: does not depend on time", "frontend/src/text/compare.test.ts: counts 500 lines of which a third changed correctly", "frontend/src/pending/seen.test.ts: jumping to the end leaves the skipped part unseen"),

	// Messages of the CLI, and edited inputs.
	proved(106, "an edited approval recorded as the original proposal", "orchestrator.TestTranscriptShowsWhatRan", "orchestrator.TestCallOfAHookShowsWhatRan",
		"orchestrator.TestCarriedEditShowsWhatRan", "orchestrator.TestAdoptedProcessShowsWhatRan", "orchestrator.TestEarlierAnswerSaysWhatWasApproved",
		"claude.TestRealCLITellsOnlyWhatWasProposed", "frontend/src/session/blocks.test.ts: a subagent and a group of calls"),
	proved(107, "approving with one key, in bulk or with a rule what Claude Code wants decided individually", "httpapi.TestWhatTheCLIDemandsIsObeyed",
		"claude.TestMalformedRestrictionsRestrict", "pending.TestNoRuleGoesWithAnApprovalThatAllowsNone", "orchestrator.TestWhatTheCLIDemandsStandsWithTheRequest",
		"frontend/src/pending/preview.test.ts: default_to_no: no single press approves, and Deny comes first", "frontend/src/pending/preview.test.ts: suppress_always_allow_rule: no rule is offered, by button or key"),
	proved(108, "a held approval that nobody else can stop", "pending.TestDenialEndsWhatIsHeld", "pending.TestDenialEndsWhatAFormerServerHeld",
		"pending.TestDenialWinsOverWhatComesWhileItIsGiven", "pending.TestNobodyAnswersOverAHeldDenial", "pending.TestHeldAnswersAreLinearizable",
		"httpapi.TestDenialOverAHeldApproval", "frontend/src/pending/preview.test.ts: can be denied by anybody while another person’s approval is held, and the denial is sent at once",
		"frontend/src/pending/preview.test.ts: tells its approver who denied it"),
	proved(109, "an edited answer to an MCP permission prompt, reported as the proposal", "mcpapi.TestApprovalPrompt"),

	// Nothing is approved by accident.
	proved(110, "a second tap or key press that hits the next card", "frontend/src/pending/after.test.ts: a request that arrives after a decision waits until the person asks for it",
		"frontend/src/pending/after.test.ts: a request that arrives with the state that ends a decision waits too", "frontend/src/pending/cards.test.ts: after a decision no other card gets the focus, and no key decides it before the person asks for it",
		"e2e/tests/tapping.spec.ts: random taps decide nothing by accident in"),
	proved(111, "a press aimed at a card that was replaced, moved, resized or covered", "frontend/src/pending/press.test.ts: nothing is decided when %s",
		"frontend/src/pending/press.test.ts: a repeating key presses once, and a key that was already down does not press", "frontend/src/pending/decide.test.ts: lets no fact outweigh another obstacle",
		"e2e/tests/tapping.spec.ts: random taps decide nothing by accident in"),
	proved(112, "confirming a dangerous call by a harmless word, or beside the ordinary button", "frontend/src/pending/danger.test.ts: comes from the mark of the highest level, not the first",
		"frontend/src/pending/danger.test.ts: is short and can be typed, whatever the text and its marks", "frontend/src/pending/press.test.ts: a held button counts at the end of its time, by touch or key, and never after a short press or a move",
		"e2e/tests/cards.spec.ts: dangerous commands are marked and take more than one press"),
	proved(113, "an accidental touch that approves at once", "frontend/src/pending/undo.test.ts: covers by default approvals by touch, and otherwise those above low risk and in bulk"),
	proved(114, "decisions and drafts of one person, sent or shown under the next sign-in", "frontend/src/connection/socket.test.ts: an offline decision is sent for its author, never with another sign-in",
		"frontend/src/connection/owner.test.ts: an outbox sends only its owner’s decisions, and has them again when the owner returns", "frontend/src/connection/owner.test.ts: drafts are shown to their author only",
		"httpapi.TestCommandOfAnotherPerson"),

	// The bounds of credentials.
	proved(115, "the cookie sent to another port of the host, with forged origin and host", "httpapi.TestCookieWithoutPageKeyIsRefused", "httpapi.TestAPageOpensItsWebSocketWithItsKey", "httpapi.TestEverySignInGivesAPageKey", "httpapi.TestSignInsWithoutPageKeyAreOver", "e2e/tests/ports.spec.ts: a server on another port gets the cookie and can do nothing with it"),
	proved(116, "a token that creates a stronger or longer-lived one, over any number of steps", "httpapi.TestTokensCannotCreateStrongerTokens"),
	proved(117, "credentials created by a token, after it has ended", "httpapi.TestRevokingATokenRevokesThoseItCreated"),
	proved(118, "an admin's sign-in link in a log", "cmd/sayso.TestLaterSignInAddresses", "cmd/sayso.TestBehindATrustedProxy"),
	proved(119, "a held approval whose credential has ended", "httpapi.TestHeldAnswerEndsWithItsCredential"),
	proved(120, "account changes without an audit entry, and failed sign-ins that flood the audit log", "httpapi.TestAccountEventsAreOnRecord", "httpapi.TestGuessesDoNotFillTheTrail", "cmd/sayso.TestAuditTrail"),
	proved(121, "failed sign-ins that lock out a whole office, and one account under many spellings", "account.TestASharedAddressIsNotLockedOut", "account.TestSignInLimiterLimitsAnAccountAcrossAddresses", "account.TestNamesWithTheSameCanonicalForm", "httpapi.TestGuessedTokensAreLimited", "httpapi.TestSignInIsLimited"),

	// Folders, addresses, and the machine.
	proved(122, "code in a repository outside its settings: nested repositories, Git hooks, included configuration, plugins, scheduled tasks", "claude/folder.TestNestedRepositoriesAreSeen", "claude/folder.TestHooksOfGitAreSeen", "claude/folder.TestPluginsTasksAndWorkflowsAreSeen", "claude/folder.TestEverythingGitCanRunIsKnown", "claude/folder.TestDeepAndCircularFoldersAreBounded", "cmd/sayso.TestWhatIsNotInSettingsIsSeenToo"),
	proved(123, "addresses and names of internal hosts, in every special-purpose range and notation", "ssrf.TestNoSpecialAddressIsPublic", "ssrf.TestNoAddressOfANameIsDialled", "ssrf.TestNamesAreJudgedByWhereTheyLead", "alert.TestAddressesInside", "oidc.TestPublicProviderReachesNoInternalAddress"),
	proved(124, "hard links, kernel files, devices and races that show an outside file in a preview", "workspace.TestAFileWithMoreNamesIsNotShown", "workspace.TestReadFile"),
	proved(125, "a CLI replaced between the registry and the machine", "sayso.TestTheCLIIsPinned", "sayso.TestAnotherCLIIsNotInstalled"),
	proved(126, "a second server on a state folder or a file in use, a restore beside a server, an incomplete database, a signal during startup, read-only commands that write", "store.TestServersShareADatabase", "cmd/sayso.TestSecondServerIsRefused", "store.TestMissingTablesAreNamed", "store.TestOpenCancelledAnywhere", "cmd/sayso.TestStoppedWhileStarting", "store.TestOpenReadOnlyChangesNothing", "cmd/sayso.TestReadingCommandsChangeNothing", "cmd/sayso.TestCommandsThatAreNotWhole"),

	// The contract.
	proved(127, "an answer that names no session or request type; a command or body with a field missing, null, of another type, out of range or repeated", "httpapi.TestEveryFaultOfACommandIsRefused", "httpapi.TestEveryFaultOfABodyIsRefused", "wire.TestStrictJSON", "httpapi.TestAnswerOverREST"),
	proved(128, "an option together with free text, two options, or both forms of an answer, where one answer is expected, through every API", "pending.TestAnswersThatDoNotFitTheQuestions", "httpapi.TestPromptManagerSubmitAnswer", "httpapi.TestMAXSIMAnswer"),
	proved(129, "a stream of one project used for another; any invalid field sent by an agent", "mcpapi.TestPromptManager9InvalidStreamToken", "httpapi.TestPromptManagerSubmitAnswer", "mcpapi.TestEveryFaultOfAToolCallIsRefused", "mcpapi.TestEveryFaultOfAnAdapterBodyIsRefused", "mcpapi.TestUnknownFieldsOfAgentsPass"),
	proved(130, "requests piped into sayso mcp, whose stdin ends before their answers", "cmd/sayso.TestMCPAnswersWhatWasPipedIntoIt", "mcpapi.TestPromptManagerAnswersWhatItReadBeforeTheEndOfItsInput", "mcpapi.TestPromptManagerEndsWithACancelledRequest"),
	proved(131, "an asker that disappears after its ticket, between two polls or with its process", "mcpapi.TestAskerThatNeverComesBackWithItsTicketIsGone", "mcpapi.TestQuestionGoesWithItsAsker", "mcpapi.TestPromptManager8AskerGoes", "mcpapi.TestATerminalThatDoesNotComeBack", "cmd/sayso.TestMCPQuestionGoesWithItsProcess"),

	// Git, which the server runs without an approval.
	proved(132, "a repository whose settings, hooks, filters, drivers or submodules run a program when its changes are shown", "workingtree.TestRepositoryRunsNoProgram", "workingtree.TestSubmoduleRunsNoProgram"),
	proved(133, "a repository, link, pipe or path that shows files outside the folder or of a hidden project, or that blocks", "workingtree.TestRepositoryElsewhere", "workingtree.TestFilesElsewhere", "workingtree.TestRepositoryAboveRoots", "workingtree.TestDiscardDoesNotFollowLinks", "workingtree.TestOnlyWhatWasPlannedIsDone", "claude/config.TestProject", "orchestrator/launch.TestGrantsAreFoundAndRemoved", "claude.TestSavedFolder", "httpapi.TestChangesShowNoFileOfAHiddenProject"),
	proved(134, "a CLI that offers too many commands, too long ones, or names that disguise them", "orchestrator.TestCatalogFollowsTheCLIWithinBounds"),

	// A phone.
	proved(135, "a QR code that leads a phone elsewhere or signs it in: its address comes from no header, and it contains no credential", "httpapi.TestPhoneAddressesComeFromTheServer", "cmd/sayso.TestPhoneAddresses", "frontend/src/session/HandOff.test.ts: the phone gets the link to exactly this card, and nothing that signs in"),
	proved(136, "text in an exported file that runs, loads or forges a decision, and an export without an audit entry", "export.TestHostileTextsAreInert", "httpapi.TestExportOfASession"),
	proved(137, "an offline phone: approvals, an outdated version of the app, or requests of its previous user", "e2e/tests/offline.spec.ts: the installed app without its server shows the last known state, and decides nothing"),
	proved(138, "another site that shares content into the app", "e2e/tests/offline.spec.ts: the installed app without its server shows the last known state, and decides nothing"),

	// Diagrams.
	proved(139, "a diagram that never ends, a megabyte of source, a macro bomb, or a transcript full of them", "frontend/src/text/draw.test.ts: what takes more than 3 s is ended, and what comes after it is drawn",
		"frontend/src/text/draw.test.ts: a transcript full of slow ones takes half a minute at most", "frontend/src/text/draw.test.ts: a megabyte is not even read", "frontend/src/text/drawworker.test.ts: a bomb of macros or braces is small or none",
		"e2e/tests/hostile.spec.ts: diagrams and formulas are drawn, inert and in bounded time"),
	proved(140, "a script, link, external image or page element in a diagram or formula", "frontend/src/text/drawworker.test.ts: holds no element of its own", "frontend/src/text/drawworker.test.ts: leads, loads and runs nothing",
		"frontend/src/text/mathml.test.ts: what could lead, run, load or look like a part of the page is left out", "frontend/src/text/DrawnBlock.test.ts: the source is there until the diagram is, and on a press",
		"e2e/tests/hostile.spec.ts: diagrams and formulas are drawn, inert and in bounded time"),

	// A terminal.
	proved(141, "a request, a title or a transcript that a terminal obeys, or that looks there like another one or like sayso itself", "cmd/sayso.TestTerminalShowsRequestsInertAndWhole", "visible.TestNothingReachesTheTerminal", "visible.TestHiddenCharactersAreNamed"),
	proved(142, "the socket of the terminal, opened by another user, or used by Claude by mistake", "cmd/sayso.TestSocketOfTheTerminal"),

	// A runner on another host.
	proved(143, "a runner's token that was guessed, revoked, copied to another host, or sent by a page", "runner.TestRunnersThatAreRefused", "runner.TestRequestsThatAreNoRunners"),
	proved(144, "somebody between a runner and its server, or a redirect that asks for the token", "runner.TestRunnersThatAreRefused/another key", "runner.TestRunnersThatAreRefused/a certificate of nobody", "runner.TestRunnersThatAreRefused/a redirect", "runner.TestAddressesThatAreRefused"),
	proved(145, "a runner or a server that sends without end, or what the protocol does not allow", "runner/link.TestPeersThatBreakTheProtocolLoseTheirConnection", "runner/link.TestFloodsAreBounded", "runner/link.TestASlowReceiverHoldsUpNobody", "runner/link.TestLongArgumentsAreBounded", "runner/link.TestTooManyCalls"),
	proved(146, "a server that makes a runner run what its own rules refuse, or reach files beside those of a process", "runner/remote.TestServersThatWantTooMuch", "orchestrator/launch.TestRunnerKeepsToItsOwnRoots"),

	// Metrics.
	proved(147, "a token for the metrics that does anything else, or outlives the rights of its admin", "httpapi.TestMetricsScope"),

	// The token of a runner, which must not work as another credential.
	proved(148, "a runner's token used for REST, a tab, the metrics or MCP", "httpapi.TestTokensOfRunners"),
	proved(149, "a server that makes a runner work outside the runner's own roots, or set variables of a session", "orchestrator/launch.TestARunnerChecksWhatItStarts", "orchestrator/launch.TestARunnerChecksTrust", "runner/remote.TestServersThatWantTooMuch", "orchestrator/launch.TestErrorsKeepTheirMeaningWhenTheyTravel"),
	proved(150, "a page or a session on the host of a runner that reaches more of the server than MCP through it", "runner.TestRequestsOfSessionsAreForwarded"),
	proved(151, "a stranger at the port where servers reach each other, or at the address of one", "cluster.TestStrangersAreRefused"),
	proved(152, "a runner that reports a session of another as its own, for its messages and answers", "orchestrator.TestARunnerTakesOverNoSessionOfAnother"),
	proved(153, "a server that makes a runner load the settings of a folder that nobody trusted, or that the runner's own settings refuse", "cmd/sayso.TestServerCannotMakeARunnerTrustAFolder", "orchestrator/launch.TestARunnerChecksTrust"),
}

// TestEveryAttackHasItsAnswer checks that the tests in the list exist, so that
// renaming or deleting one is noticed.
func TestEveryAttackHasItsAnswer(t *testing.T) {
	t.Parallel()
	proofs := testsByName(t)
	for i, a := range attackList {
		if a.number != i+1 {
			t.Fatalf("attack %d is in place %d", a.number, i+1)
		}
		if a.what == "" || len(a.proofs) == 0 && a.cannot == "" && a.open == "" {
			t.Errorf("attack %d has no proof and no explanation", a.number)
		}
		if a.open != "" && !slices.Contains(mayBeOpen, a.number) {
			t.Errorf("attack %d is open: %s", a.number, a.open)
		}
		for _, proof := range a.proofs {
			if wrong := checkProof(proof, proofs); wrong != "" {
				t.Errorf("attack %d: %s", a.number, wrong)
			}
		}
	}
	if len(attackList) < 131 {
		t.Errorf("%d attacks, want at least 131", len(attackList))
	}
}

// checkProof returns what is wrong with a proof, "" when its test exists.
func checkProof(proof string, tests map[string][]string) string {
	if file, name, web := strings.Cut(proof, ": "); web {
		if text, err := os.ReadFile(filepath.FromSlash(file)); err != nil || !strings.Contains(string(text), name) {
			return fmt.Sprintf("there is no test %q (%v)", proof, err)
		}
		return ""
	}
	dot := strings.LastIndex(strings.SplitN(proof, "/7.", 2)[0], ".Test")
	if dot < 0 {
		return fmt.Sprintf("%q is not a test", proof)
	}
	name, part, _ := strings.Cut(proof[dot+1:], "/")
	texts, ok := tests[proof[:dot]+"."+name]
	if !ok || !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) }) {
		return fmt.Sprintf("there is no test %q", proof)
	}
	return ""
}

// TestSecurityPromisesNameTheirTests checks that each promise in SECURITY.md ends with
// the tests that fail when it is broken, and that these tests exist.
func TestSecurityPromisesNameTheirTests(t *testing.T) {
	t.Parallel()
	proofs := testsByName(t)
	_, promised, _ := strings.Cut(read(t, "SECURITY.md"), "\n## Promised\n")
	promised, _, _ = strings.Cut(promised, "\n## ")
	promises := strings.Split("\n"+promised, "\n- **")[1:]
	if len(promises) < 20 {
		t.Fatalf("only %d promises were found", len(promises))
	}
	for _, promise := range promises {
		title, _, _ := strings.Cut(promise, "**")
		_, list, _ := strings.Cut(promise, "\n  Tests: ")
		list, _, _ = strings.Cut(list, "\n")
		named := strings.Split(list, "`")
		if len(named) < 3 {
			t.Errorf("%q names no test", title)
		}
		for i := 1; i < len(named); i += 2 {
			if wrong := checkProof(named[i], proofs); wrong != "" {
				t.Errorf("%q: %s", title, wrong)
			}
		}
	}
}

// testsByName maps "package.TestName" to the string literals of its file, which
// include the names of its subtests.
func testsByName(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata" || len(entry.Name()) > 1 && entry.Name()[0] == '.') {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		texts := []string{""}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				texts = append(texts, strings.Trim(lit.Value, "\"`"))
			}
			return true
		})
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				folder := strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), "internal/")
				if folder == "." {
					folder = "sayso"
				}
				all[folder+"."+f.Name.Name] = texts
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
