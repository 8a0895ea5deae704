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

// An attack is one that a server like this one has suffered or must expect, and
// what stands against it: tests that prove it, or why it cannot come, or what is
// missing still. SECURITY.md says the same in words.
type attack struct {
	number int
	what   string
	// proofs are tests: "package.TestName", with "/part" for a row whose name
	// contains part, or "file: name" for those of the web app.
	proofs []string
	cannot string
	open   string
}

func proved(number int, what string, proofs ...string) attack {
	return attack{number: number, what: what, proofs: proofs}
}

// mayBeOpen are the attacks that are not yet proved or impossible.
var mayBeOpen = []int{86}

var attackList = []attack{
	// Host, origin, requests that another site sends.
	proved(1, "another host name, rebound to us", "httpapi.TestEveryRouteRefuses/7.1 another host with its origin", "httpapi.TestHandlersOutsideTheRouteTableRefuseAttacks"),
	proved(2, "the same on the WebSocket", "wsapi.TestUpgradeIsRefused/7.2"),
	proved(3, "the same at the handlers for agents", "httpapi.TestHandlersOutsideTheRouteTableRefuseAttacks", "cmd/sayso.TestAgentHandlers"),
	proved(4, "no host, two hosts, another one in the address", "httpapi.TestEveryRouteRefuses/7.4", "cmd/sayso.TestRawRequestsAreRefused/4 two hosts", "cmd/sayso.TestRawRequestsAreRefused/4 absolute address"),
	proved(5, "host names that resemble ours", "httpapi.TestEveryRouteRefuses/7.5 decimal", "httpapi.TestAllowedHosts"),
	proved(6, "forwarded headers of strangers", "httpapi.TestForwardedHeadersOfStrangers", "httpapi.TestEveryRouteRefuses/7.6"),
	proved(7, "WebSocket with a cookie from another site", "wsapi.TestUpgradeIsRefused/7.7"),
	proved(8, "WebSocket with a cookie and no origin", "wsapi.TestUpgradeIsRefused/7.8"),
	proved(9, "origin null", "wsapi.TestUpgradeIsRefused/7.9", "httpapi.TestEveryRouteRefuses/7.9", "httpapi.TestAgentHandlersRefusePages"),
	proved(10, "origin of another port of this machine", "wsapi.TestUpgradeIsRefused/7.10", "httpapi.TestEveryRouteRefuses/7.10"),
	proved(11, "origin http of a site that is https", "httpapi.TestBehindAProxy", "wsapi.TestUpgradeIsRefused/7.11"),
	proved(12, "origins that begin or end like ours", "wsapi.TestUpgradeIsRefused/7.12", "httpapi.TestEveryRouteRefuses/7.12"),
	proved(13, "a form of another site, as text", "httpapi.TestEveryRouteRefuses/7.13 form", "httpapi.TestEveryRouteRefuses/7.13 cross-site", "httpapi.TestAgentHandlersRefusePages"),
	proved(14, "a request from a sister site", "httpapi.TestEveryRouteRefuses/7.14"),
	proved(15, "preflights", "httpapi.TestEveryRouteRefuses/7.15"),
	proved(16, "changes by GET or HEAD", "httpapi.TestNothingChangesByLooking", "httpapi.TestEveryRouteRefuses/7.16"),
	proved(17, "headers that override the method", "httpapi.TestEveryRouteRefuses/7.17"),
	proved(18, "our pages in a frame", "httpapi.TestHandlersOutsideTheRouteTableRefuseAttacks", "httpapi.TestEveryRouteRefuses"),
	proved(19, "a page that reaches for 0.0.0.0 and private networks", "httpapi.TestEveryRouteRefuses/7.5 any address"),
	proved(20, "a sign-in that somebody else prepared", "httpapi.TestSignInTakesNoIdOfTheBrowsers", "httpapi.TestSigningInAgainEndsTheFormerSignIn", "httpapi.TestChallengesAreUsedOnce"),

	// Who somebody is.
	proved(21, "every route without a credential", "httpapi.TestEveryRouteRefuses/7.21", "httpapi.TestEveryRouteAndCommandHasItsPolicy"),
	proved(22, "an upgrade without a credential", "wsapi.TestUpgradeIsRefused/7.22"),
	proved(23, "addresses that somebody forgot", "httpapi.TestPathsThatAreNotThere", "httpapi.TestHandlersOutsideTheRouteTableRefuseAttacks", "cmd/sayso.TestAgentHandlers"),
	proved(24, "a server that nobody has set up", "httpapi.TestSetUp", "httpapi.TestSetUpThroughAProxy", "cmd/sayso.TestStartExplainsSetUp", "account.TestCredentialsRunOut"),
	proved(25, "secrets that everybody knows", "account.TestFirstStartMakesOneAdmin", "account.TestKnownSecretsAreRefused"),
	proved(26, "signed tokens with another algorithm", "oidc.TestTokensThatAreRefused/no algorithm", "oidc.TestTokensThatAreRefused/signed with the secret"), // ours are random and found by their hash
	proved(27, "credentials that ended, or are of another server", "account.TestCredentialsRunOut", "account.TestSecretsOfOneKindAreNoneOfAnother", "httpapi.TestEveryRouteRefuses/7.27"),
	proved(28, "guessing", "httpapi.TestSignInIsLimited", "httpapi.TestGuessedTokensAreLimited", "account.TestGuessedTokensAreDelayed", "httpapi.TestAnAccountIsLimitedFromManyAddresses", "httpapi.TestFailedSignInsAreIndistinguishable", "httpapi.TestPasskeysThatAreRefused", "httpapi.TestSignInsAtAProviderThatAreRefused", "account.TestSignInLimiterCountsSimultaneousAttempts", "account.TestBootstrapToken"),
	proved(29, "being on loopback as a credential", "httpapi.TestEveryRouteRefuses/7.29"),
	proved(30, "listening for everybody without encryption", "cmd/sayso.TestOpenWithoutEncryptionIsRefused", "httpapi.TestForwardedHeadersOfStrangers"),
	proved(31, "credentials in addresses", "httpapi.TestEveryRouteRefuses/7.31", "httpapi.TestLogKeepsNoSecretAndNoForgery"),
	proved(32, "a parameter that makes the web app connect elsewhere", "httpapi.TestEveryRouteRefuses", "frontend/src/account/SignIn.test.ts: does not redirect to"),
	proved(33, "a proxy's word on who somebody is", "httpapi.TestEveryRouteRefuses/7.33"),
	proved(34, "sockets that outlive their sign-in", "httpapi.TestSignInEndsOnTheSocketOfItsBrowser", "httpapi.TestRevokedRightsEndInEveryAPI", "wsapi.TestSignInEndsOnOpenSockets", "httpapi.TestPasskeyEndsOnOpenSockets", "mcpapi.TestTokenOfADeadSessionIs401", "mcpapi.TestTokenThatEndsIsNoticedWithinASecond"),
	proved(35, "one set-up, two who claim it", "httpapi.TestSetUpByPasskey", "account.TestSetUp", "account.TestSignInLinkWorksOnce"),

	// What somebody may.
	proved(36, "a session of another project", "httpapi.TestRevokedRightsEndInEveryAPI", "httpapi.TestObjectsOfOthersAreNotFound", "httpapi.TestMembershipReachesOpenTabs", "project.TestWhoMayDoWhat"),
	proved(37, "a viewer who answers", "wsapi.TestRolesOnTheSocket", "httpapi.TestEveryRouteRefuses/7.37", "httpapi.TestRightsAndRulesOfAnswers"),
	proved(38, "an admin who is none any more, on an old socket", "httpapi.TestRevokedRightsEndInEveryAPI", "wsapi.TestSignInEndsOnOpenSockets/demoted", "wsapi.TestDemotedBetweenTwoCommands", "httpapi.TestMembershipReachesOpenTabs"),
	proved(39, "a request of another session", "httpapi.TestRequestOfAnotherSessionIsNoneAtAll", "httpapi.TestObjectsOfOthersAreNotFound"),
	proved(40, "an agent that reads in another session", "mcpapi.TestSessionsNeverSeeEachOther", "mcpapi.TestTicketsOfOtherAgentsAreUnknown"),
	proved(41, "an agent that answers", "httpapi.TestTokenOfAnAgentIsNobody"),
	proved(42, "Claude that approves itself", "cmd/sayso.TestClaudeOfAnotherUserCannotApproveItself", "cmd/sayso.TestTheServerReadsAsClaudesUser", "cmd/sayso.TestClaudeInASandboxCannotApproveItself", "httpapi.TestTokenOfAnAgentIsNobody", "shim.TestWrongTokenIsRefused", "store/sqlite.TestModesUnderAnyUmask"),
	proved(43, "fields that the sender has no business with", "httpapi.TestEveryRouteRefuses/7.43"),
	proved(44, "ids and secrets that can be guessed", "account.TestSecretsCannotBeGuessed", "httpapi.TestObjectsOfOthersAreNotFound"),

	// Answers.
	proved(45, "an answer to the request before", "wsapi.TestStaleAnswers", "pending.TestTwiccLateAnswerResolvedTheNextRequest"),
	proved(46, "an answer to another input", "wsapi.TestStaleAnswers/another input"),
	{number: 47, what: "an input that was changed without a word", cannot: "A changed input is the edit: it is stored as one and shown to everybody as approved with changes."},
	proved(48, "an edit that makes it another tool", "pending.TestApprovalsThatAreRefused"),
	proved(49, "answers that do not fit the question", "pending.TestAnswersThatDoNotFitTheQuestions"),
	proved(50, "allow without an answer", "pending.TestAnEmptyAnswerToOptionalQuestionsIsNoAnswer", "pending.TestAnswersThatDoNotFitTheQuestions"),
	proved(51, "line breaks in an answer", "pending.TestAnAnswerCannotBreakOutOfItsLine"),
	proved(52, "an answer that looks like a message of ours", "pending.TestAnAnswerCannotBreakOutOfItsLine", "claude.TestAllowSendsWhatWasEditedAndGrantedOnOneLine"),
	proved(53, "a rule that is wider than what was shown", "pending.TestApprovalsThatAreRefused", "review.TestRulesThatAreTooWide"),
	proved(54, "an answer given twice", "wsapi.TestRepeatedAnswer", "pending.TestAReplayedAnswerHasNoSecondEffect"),
	proved(55, "a form that changes under the cursor", "frontend/src/pending/decide.test.ts: waits a moment after the card appeared and after the window got the focus", "wsapi.TestStaleAnswers/another input"),

	// Processes and files.
	proved(56, "folders outside", "orchestrator.TestStartRefusesWhatCannotWork", "workspace.TestResolve", "workspace.TestListNeverLeavesItsRoot", "shim.TestFolderIsNotReplacedAfterTheCheck", "orchestrator.TestSessionOutsideTheRootsIsNotResumed"),
	proved(57, "values that are flags", "claude.TestArgsRefuseWhatCouldBeAFlag"),
	proved(58, "a prompt that is a flag", "claude.TestArgs"),
	proved(59, "variables from outside", "claude.TestEnviron", "cmd/sayso.TestWhatTheServerGivesToClaude", "httpapi.TestEveryRouteRefuses/7.43"),
	proved(60, "settings, hooks and servers in a repository", "cmd/sayso.TestNothingOfAHostileRepositoryRunsBeforeItIsTrusted", "orchestrator.TestAFolderIsTrustedBeforeTheFirstRun", "orchestrator.TestSettingsThatChangeBeforeTheExec", "orchestrator.TestNoAutomaticResumeInAChangedFolder", "claude/folder.TestEverythingTheCLILoadsIsFound", "httpapi.TestAFolderThatNobodyTrusts"),
	proved(61, "resuming a session of another project", "httpapi.TestObjectsOfOthersAreNotFound"),
	proved(62, "files that others can read, or have put there", "store/sqlite.TestModesUnderAnyUmask", "shim.TestModesOfFiles", "shim.TestStartRefusesAFolderThatIsThere"),
	proved(63, "another user at the socket of a shim", "shim.TestWrongTokenIsRefused"),
	proved(64, "our secrets in Claude's environment and files", "cmd/sayso.TestWhatTheServerGivesToClaude", "shim.TestDescriptorsAndEnvironmentOfTheCLI", "claude.TestChildGetsNothingElse", "claude.TestEnviron"),
	proved(65, "paths and scripts in attachments", "httpapi.TestAttachmentsAreServedInert", "httpapi.TestAttachmentsThatAreRefused", "attachment.TestStoreAttachment"),

	// Agents.
	{number: 66, what: "the MCP session of another", cannot: "The server keeps no MCP sessions; each call proves itself by its token."},
	proved(67, "an MCP session id alone", "mcpapi.TestTokenOfADeadSessionIs401/67."),
	proved(68, "a token for somebody else", "mcpapi.TestTokenOfADeadSessionIs401", "account.TestAgentTokens", "oidc.TestTokensThatAreRefused/another audience"),
	proved(69, "calls that break the protocol", "mcpapi.TestMalformedRequests"),
	{number: 70, what: "state that a client hands back", cannot: "The server hands out none; a ticket is looked up in the session of its token."},
	proved(71, "a flood of questions", "mcpapi.TestFlood", "mcpapi.TestFloodOutlivesTheServer"),
	proved(72, "questions that pretend", "mcpapi.TestHostileQuestions", "mcpapi.TestAskerIsNamed", "frontend/src/text/hidden.test.ts: an invisible character is named in its place"),
	proved(73, "results in the wrong session", "mcpapi.TestSessionsNeverSeeEachOther"),
	proved(74, "ids of odd types", "mcpapi.TestIDsComeBack"),

	// Load and parsing.
	proved(75, "slow headers and bodies", "cmd/sayso.TestSlowHeadersAreCutOff", "httpapi.TestNoBodyIsWaitedForLong", "httpapi.TestBodyThatNeverComes"),
	proved(76, "many idle connections", "cmd/sayso.TestConnectionsAreLimited"),
	proved(77, "frames that are too large, or none", "wsapi.TestMessagesThatEndTheConnection", "httpapi.TestFramesThatBreakTheProtocol", "httpapi.TestRawFramesThatAreRefused", "httpapi.TestPingFlood", "httpapi.TestAnnouncedMessagesKeepNobodyOut", "httpapi.TestLargeBodiesAreTakenInTurn"),
	proved(78, "JSON that is deep or says things twice", "httpapi.TestEveryRouteRefuses/7.78 deep", "httpapi.TestEveryRouteRefuses/7.78 repeated", "httpapi.TestAMillionFields"),
	proved(79, "large headers", "cmd/sayso.TestRawRequestsAreRefused/79"),
	proved(80, "forged lines in the log", "httpapi.TestLogKeepsNoSecretAndNoForgery"),
	proved(81, "secrets in logs and figures", "httpapi.TestLogKeepsNoSecretAndNoForgery", "shim.TestDescriptorsAndEnvironmentOfTheCLI"),
	proved(82, "figures and profiles for strangers", "httpapi.TestEveryRouteRefuses/7.82 figures for a viewer", "httpapi.TestEveryRouteRefuses/7.82 figures for a member", "httpapi.TestEveryRouteRefuses/7.21", "httpapi.TestPathsThatAreNotThere"),
	proved(83, "text that is slow to show", "frontend/src/text/effort.test.ts: a megabyte of Markdown takes bounded effort, and few elements", "frontend/src/text/effort.test.ts: twice the text takes about twice the steps",
		"frontend/src/text/effort.test.ts: a megabyte creates few elements", "review.TestBounds"),
	proved(84, "markup in what Claude says", "frontend/src/text/markdown.test.ts: raw HTML is text", "frontend/src/text/markdown.test.ts: links lead to the web only, and show where"),
	proved(85, "being led elsewhere after signing in", "frontend/src/account/SignIn.test.ts: does not redirect to"),
	{number: 86, what: "weaknesses in what we build on", proofs: []string{"cmd/sayso.TestReleaseCanBeVerified"},
		open: "govulncheck was seen to find a weakness in a database made up for it and none in an empty one; the real one, and npm's, did not answer where this was built. No release was made yet, so there is no key of ours to verify one with."},
	proved(87, "a changed audit trail", "cmd/sayso.TestAuditTrail"),
	{number: 88, what: "paths of backups", cannot: "There is no call that makes one."},
	{number: 89, what: "telling by the time it takes", proofs: []string{"httpapi.TestFailedSignInsAreIndistinguishable"}, cannot: "Secrets are found by hash and compared in constant time; no test measures time."},
	proved(90, "two lengths of one request", "cmd/sayso.TestRawRequestsAreRefused/90 two lengths", "cmd/sayso.TestOneRequestIsNeverTwo", "cmd/sayso.TestBehindARealProxy"),
	proved(91, "addresses that lead the server inside", "alert.TestAddressesInside", "httpapi.TestAlertsThatCannotBe"),

	// A command called low.
	proved(92, "a command that writes or runs code and is called low, so that a batch approves it unseen", "review.TestAttacksAreNotLow", "review.TestLowHasNoEffectInItsText", "review.TestEverydayIsLow", "httpapi.TestRiskAndBatch"),
	proved(93, "the same, executed: what is called low is run and watched", "review.TestLowCommandsOnlyRead", "review.TestExecutionIsWatched"),
	proved(94, "reading the server's own files, or secrets through links, as if it were of low risk", "review.TestPrivateIsNotLow", "decision.TestLevelFollowsLinks"),
	proved(95, "a spelling of a command that hides which programs it runs", "review.TestInvocationsFindProgram", "review.TestInvocationsIncomplete", "review.TestInvocationsFolders"),

	// Rules, and two people who are two.
	proved(96, "one person who approves twice: by a password, a token, a link or a user that they made for the other, in either order, or by two tokens of one hand", "httpapi.TestSecondApprovalNeedsAnotherPerson", "httpapi.TestTwoTokensOfOnePersonAreOnePerson", "account.TestCredentialMakers"),
	proved(97, "a rule of a project, and a command, path or address that says the same in other words", "project.TestRewordedCommands", "project.TestNoRewordingEscapes", "project.TestUnreadCommandsMeetTheStrictestRule", "project.TestAllowRulesMustCoverTheWholeCommand", "project.TestFilesOfRules", "project.TestAddressesOfRules"),
	proved(98, "tools allowed at the start, permissions beside an approval, of any reach, and modes, against a rule of a project", "httpapi.TestNothingLoosensRules"),
	proved(99, "settings files, grants from before a rule, subagents and skills, against a rule of a project", "cmd/sayso.TestRealClaudeAsksForWhatAProjectKeeps", "claude.TestRealCLIAsksWhenAHookSaysSo"),
	proved(100, "a path of another name: symbolic links, /proc, ~, case, a folder above", "project.TestFilesOfRules", "orchestrator/launch.TestDiskFollowsLinks"),
	proved(101, "a permission rule that two readers read in two ways, or that takes for ever to compare", "claude.TestRealCLIReadsRulesAsWeDo", "claude/rule.TestCovers", "claude/rule.TestGlobIsWhatItSays", "claude/rule.TestHostilePatterns"),

	// What is shown is all there is.
	proved(102, "a plan or a question of which a part is not shown", "frontend/src/pending/shown.test.ts: shows every letter, digit and symbol that is approved, or names the line that it does not show", "frontend/src/pending/shown.test.ts: names each line that is not shown, and no other", "frontend/src/pending/shown.test.ts: lists what it does not show, whatever its name"),
	proved(103, "characters that hide, turn or pile up in any text of a card", "frontend/src/pending/shown.test.ts: marks invisible and bidirectional characters in text and code", "frontend/src/text/hidden.test.ts: letters that are drawn as nothing are marked, in prose too"),
	proved(104, "a field of a tool call that its card does not know", "frontend/src/pending/shown.test.ts: shows each field of its input, including unknown ones", "frontend/src/pending/shown.test.ts: shows a known field with an unexpected value", "frontend/src/pending/shown.test.ts: an Edit that also has a list of edits shows the edit that runs"),
	proved(105, "a difference too large to be compared, and approving what only rushed past", "frontend/src/text/compare.test.ts: does not depend on time", "frontend/src/text/compare.test.ts: counts 500 lines of which a third changed correctly", "frontend/src/pending/seen.test.ts: jumping to the end leaves the skipped part unseen"),

	// What the CLI says, and what was edited.
	proved(106, "an edited approval that is told afterwards as what was proposed", "orchestrator.TestTranscriptShowsWhatRan", "orchestrator.TestCallOfAHookShowsWhatRan",
		"orchestrator.TestCarriedEditShowsWhatRan", "orchestrator.TestAdoptedProcessShowsWhatRan", "orchestrator.TestEarlierAnswerSaysWhatWasApproved",
		"claude.TestRealCLITellsOnlyWhatWasProposed", "frontend/src/session/blocks.test.ts: a subagent and a group of calls"),
	proved(107, "getting an approval that Claude Code wants considered by one key, in a batch, or with a rule", "httpapi.TestWhatTheCLIDemandsIsObeyed",
		"claude.TestMalformedRestrictionsRestrict", "pending.TestNoRuleGoesWithAnApprovalThatAllowsNone", "orchestrator.TestWhatTheCLIDemandsStandsWithTheRequest",
		"frontend/src/pending/preview.test.ts: default_to_no: no single press approves, and Deny comes first", "frontend/src/pending/preview.test.ts: suppress_always_allow_rule: no rule is offered, by button or key"),
	proved(108, "an approval that is held to be undone, and that nobody else can stop", "pending.TestDenialEndsWhatIsHeld", "pending.TestDenialEndsWhatAFormerServerHeld",
		"pending.TestDenialWinsOverWhatComesWhileItIsGiven", "pending.TestNobodyAnswersOverAHeldDenial", "pending.TestHeldAnswersAreLinearizable",
		"httpapi.TestDenialOverAHeldApproval", "frontend/src/pending/preview.test.ts: can be denied by anybody while another person’s approval is held, and the denial is sent at once",
		"frontend/src/pending/preview.test.ts: tells its approver who denied it"),
	proved(109, "an edited answer to a permission prompt of MCP, told as what was proposed", "mcpapi.TestApprovalPrompt"),

	// Nothing is approved by accident.
	proved(110, "a second tap, or key, where a decision was made, when another card is there by then", "frontend/src/pending/after.test.ts: a request that arrives after a decision waits until the person asks for it",
		"frontend/src/pending/after.test.ts: a request that arrives with the state that ends a decision waits too", "frontend/src/pending/cards.test.ts: after a decision no other card gets the focus, and no key decides it before the person asks for it",
		"e2e/tests/tapping.spec.ts: random taps decide nothing by accident in"),
	proved(111, "a press that was meant for what was there before: cards that come, go, grow or are covered", "frontend/src/pending/press.test.ts: nothing is decided when %s",
		"frontend/src/pending/press.test.ts: a repeating key presses once, and a key that was already down does not press", "frontend/src/pending/decide.test.ts: lets no fact outweigh another obstacle",
		"e2e/tests/tapping.spec.ts: random taps decide nothing by accident in"),
	proved(112, "a confirmation of danger by a harmless word, or beside the ordinary button", "frontend/src/pending/danger.test.ts: comes from the mark of the highest level, not the first",
		"frontend/src/pending/danger.test.ts: is short and can be typed, whatever the text and its marks", "frontend/src/pending/press.test.ts: a held button counts at the end of its time, by touch or key, and never after a short press or a move",
		"e2e/tests/cards.spec.ts: dangerous commands are marked and take more than one press"),
	proved(113, "an approval by a slip of the finger that counts at once", "frontend/src/pending/undo.test.ts: covers by default approvals by touch, and otherwise those above low risk and in bulk"),
	proved(114, "what one person decided or wrote, sent or shown with the sign-in of the next", "frontend/src/connection/socket.test.ts: an offline decision is sent for its author, never with another sign-in",
		"frontend/src/connection/owner.test.ts: an outbox sends only its owner’s decisions, and has them again when the owner returns", "frontend/src/connection/owner.test.ts: drafts are shown to their author only",
		"httpapi.TestCommandOfAnotherPerson"),

	// Credentials stay within their bounds.
	proved(115, "the cookie at another port of the host, with forged origin and host", "httpapi.TestCookieWithoutPageKeyIsRefused", "httpapi.TestAPageOpensItsWebSocketWithItsKey", "httpapi.TestEverySignInGivesAPageKey", "httpapi.TestSignInsWithoutPageKeyAreOver", "e2e/tests/ports.spec.ts: a server on another port gets the cookie and can do nothing with it"),
	proved(116, "a token, over any number of steps, of more than it may or for longer", "httpapi.TestTokensCannotCreateStrongerTokens"),
	proved(117, "what a token made, after the token has ended", "httpapi.TestRevokingATokenRevokesThoseItCreated"),
	proved(118, "a sign-in link of an admin in a log", "cmd/sayso.TestLaterSignInAddresses", "cmd/sayso.TestBehindATrustedProxy"),
	proved(119, "an approval that does not count yet, by a credential that has ended", "httpapi.TestHeldAnswerEndsWithItsCredential"),
	proved(120, "a change of accounts that leaves no trace, and guesses that fill the trail", "httpapi.TestAccountEventsAreOnRecord", "httpapi.TestGuessesDoNotFillTheTrail", "cmd/sayso.TestAuditTrail"),
	proved(121, "typing errors that shut out a whole office, and one account under many spellings", "account.TestASharedAddressIsNotLockedOut", "account.TestSignInLimiterLimitsAnAccountAcrossAddresses", "account.TestNamesWithTheSameCanonicalForm", "httpapi.TestGuessedTokensAreLimited", "httpapi.TestSignInIsLimited"),

	// Folders, addresses, and the machine.
	proved(122, "a repository that runs something beside its settings: nested repositories, hooks of Git, included configuration, plugins, scheduled tasks", "claude/folder.TestNestedRepositoriesAreSeen", "claude/folder.TestHooksOfGitAreSeen", "claude/folder.TestPluginsTasksAndWorkflowsAreSeen", "claude/folder.TestEverythingGitCanRunIsKnown", "claude/folder.TestDeepAndCircularFoldersAreBounded", "cmd/sayso.TestWhatIsNotInSettingsIsSeenToo"),
	proved(123, "addresses and names that lead the server inside, in every special range and every way to write one", "ssrf.TestNoSpecialAddressIsPublic", "ssrf.TestNoAddressOfANameIsDialled", "ssrf.TestNamesAreJudgedByWhereTheyLead", "alert.TestAddressesInside", "oidc.TestPublicProviderReachesNoInternalAddress"),
	proved(124, "hard links, kernel files, devices and swaps that show a file from outside in a preview", "workspace.TestAFileWithMoreNamesIsNotShown", "workspace.TestReadFile"),
	proved(125, "another CLI on the way from the registry", "sayso.TestTheCLIIsPinned", "sayso.TestAnotherCLIIsNotInstalled"),
	proved(126, "a second server on a database in use, a database that is not whole, a signal during the start, a look that changes what it looks at", "store.TestOneServerForADatabase", "cmd/sayso.TestOneServerForAPostgres", "cmd/sayso.TestSecondServerIsRefused", "store.TestMissingTablesAreNamed", "store.TestOpenCancelledAnywhere", "cmd/sayso.TestStoppedWhileStarting", "store.TestOpenReadOnlyChangesNothing", "cmd/sayso.TestReadingCommandsChangeNothing", "cmd/sayso.TestCommandsThatAreNotWhole"),

	// The contract.
	proved(127, "an answer that does not say which session or what kind of request it means; a command or body with any field missing, null, of another type, beyond its bounds or twice", "httpapi.TestEveryFaultOfACommandIsRefused", "httpapi.TestEveryFaultOfABodyIsRefused", "wire.TestStrictJSON", "httpapi.TestAnswerOverREST"),
	proved(128, "an option together with a text of one's own, two options, or both forms of an answer, where one answer is taken, by every way to answer", "pending.TestAnswersThatDoNotFitTheQuestions", "httpapi.TestPromptManagerSubmitAnswer", "httpapi.TestMAXSIMAnswer"),
	proved(129, "the stream of one project under the number of another; what an agent sends with a fault in any field", "mcpapi.TestPromptManager9InvalidStreamToken", "httpapi.TestPromptManagerSubmitAnswer", "mcpapi.TestEveryFaultOfAToolCallIsRefused", "mcpapi.TestEveryFaultOfAnAdapterBodyIsRefused", "mcpapi.TestUnknownFieldsOfAgentsPass"),
	proved(130, "requests piped into sayso mcp, whose stdin ends before their answers", "cmd/sayso.TestMCPAnswersWhatWasPipedIntoIt", "mcpapi.TestPromptManagerAnswersWhatItReadBeforeTheEndOfItsInput", "mcpapi.TestPromptManagerEndsWithACancelledRequest"),
	proved(131, "an asker that ends without a word, after its ticket, between two polls or with its process", "mcpapi.TestAskerThatNeverComesBackWithItsTicketIsGone", "mcpapi.TestQuestionGoesWithItsAsker", "mcpapi.TestPromptManager8AskerGoes", "mcpapi.TestATerminalThatDoesNotComeBack", "cmd/sayso.TestMCPQuestionGoesWithItsProcess"),

	// Git, which the server runs without asking anybody.
	proved(132, "a repository whose settings, hooks, filters, drivers or submodules run a program when somebody looks at its changes", "workingtree.TestRepositoryRunsNoProgram", "workingtree.TestSubmoduleRunsNoProgram"),
	proved(133, "a repository, a link, a pipe or a path that shows files from outside of the folder, or of a hidden project, or that blocks", "workingtree.TestRepositoryElsewhere", "workingtree.TestFilesElsewhere", "workingtree.TestRepositoryAboveRoots", "workingtree.TestDiscardDoesNotFollowLinks", "claude/config.TestProject", "orchestrator/grants.TestFilesAreFoundAndChanged", "claude.TestSavedFolder", "httpapi.TestChangesShowNoFileOfAHiddenProject"),
	proved(134, "a CLI that offers too many commands, too long ones, or names that hide what they are", "orchestrator.TestCatalogFollowsTheCLIWithinBounds"),

	// A phone.
	proved(135, "a QR code that leads a phone elsewhere, or that signs it in: its address comes from no header, and it holds no credential", "httpapi.TestPhoneAddressesComeFromTheServer", "cmd/sayso.TestPhoneAddresses", "frontend/src/session/HandOff.test.ts: the phone gets the link to exactly this card, and nothing that signs in"),
	proved(136, "a text that runs, loads or forges a decision in an exported file, and an export that is not on record", "export.TestHostileTextsAreInert", "httpapi.TestExportOfASession"),
	proved(137, "a phone without a connection: an approval, an old page of the app, or what the person before them was asked", "e2e/tests/offline.spec.ts: the installed app without its server shows the last known state, and decides nothing"),
	proved(138, "a page of another site that shares something into the app", "e2e/tests/offline.spec.ts: the installed app without its server shows the last known state, and decides nothing"),

	// What is drawn.
	proved(139, "a diagram that loops, a megabyte of source, a bomb of macros, or a transcript full of them", "frontend/src/text/draw.test.ts: what takes more than 3 s is ended, and what comes after it is drawn",
		"frontend/src/text/draw.test.ts: a transcript full of slow ones takes half a minute at most", "frontend/src/text/draw.test.ts: a megabyte is not even read", "frontend/src/text/drawworker.test.ts: a bomb of macros or braces is small or none",
		"e2e/tests/hostile.spec.ts: diagrams and formulas are drawn, inert and in bounded time"),
	proved(140, "a script, a link, an image from elsewhere or a part of the page in a diagram or formula", "frontend/src/text/drawworker.test.ts: holds no element of its own", "frontend/src/text/drawworker.test.ts: leads, loads and runs nothing",
		"frontend/src/text/mathml.test.ts: what could lead, run, load or look like a part of the page is left out", "frontend/src/text/DrawnBlock.test.ts: the source is there until the diagram is, and on a press",
		"e2e/tests/hostile.spec.ts: diagrams and formulas are drawn, inert and in bounded time"),

	// A terminal.
	proved(141, "a request, a title or a transcript that a terminal obeys, or that looks there like another one or like sayso itself", "cmd/sayso.TestTerminalShowsRequestsInertAndWhole", "visible.TestNothingReachesTheTerminal", "visible.TestHiddenCharactersAreNamed"),
	proved(142, "the socket of the terminal, opened by another user, or used by Claude by mistake", "cmd/sayso.TestSocketOfTheTerminal"),
}

// TestEveryAttackHasItsAnswer holds the list against the tests that there are: a
// proof that was renamed or taken away is none.
func TestEveryAttackHasItsAnswer(t *testing.T) {
	t.Parallel()
	proofs := testsByName(t)
	for i, a := range attackList {
		if a.number != i+1 {
			t.Fatalf("attack %d stands in place %d", a.number, i+1)
		}
		if a.what == "" || len(a.proofs) == 0 && a.cannot == "" && a.open == "" {
			t.Errorf("attack %d: nothing stands against it, and nothing says so", a.number)
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

// checkProof returns what is wrong with a proof, "" when its test is there.
func checkProof(proof string, tests map[string][]string) string {
	if file, name, web := strings.Cut(proof, ": "); web {
		if text, err := os.ReadFile(filepath.FromSlash(file)); err != nil || !strings.Contains(string(text), name) {
			return fmt.Sprintf("there is no test %q (%v)", proof, err)
		}
		return ""
	}
	dot := strings.LastIndex(strings.SplitN(proof, "/7.", 2)[0], ".Test")
	if dot < 0 {
		return fmt.Sprintf("%q is no test", proof)
	}
	name, part, _ := strings.Cut(proof[dot+1:], "/")
	texts, ok := tests[proof[:dot]+"."+name]
	if !ok || !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) }) {
		return fmt.Sprintf("there is no test %q", proof)
	}
	return ""
}

// TestSecurityPromisesNameTheirTests reads SECURITY.md: each promise ends with the
// tests that fail when it breaks, and they exist.
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

// testsByName maps "package.TestName" to the strings of its file, among which are
// the names of its rows.
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
