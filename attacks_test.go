package sayso_test

import (
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

// Attacks up to this one must be proved or impossible; of later ones some are
// open.
const mustHold = 85

var attackList = []attack{
	// Host, origin, requests that another site sends.
	proved(1, "another host name, rebound to us", "wsapi.TestEveryRouteRefuses/7.1 another host with its origin", "wsapi.TestEveryHandlerHoldsTheEdge"),
	proved(2, "the same on the WebSocket", "wsapi.TestUpgradeIsRefused/7.2"),
	proved(3, "the same at the doors of agents", "wsapi.TestEveryHandlerHoldsTheEdge", "cmd/sayso.TestDoorsOfAgents"),
	proved(4, "no host, two hosts, another one in the address", "wsapi.TestEveryRouteRefuses/7.4", "cmd/sayso.TestRawRequestsAreRefused/4 two hosts", "cmd/sayso.TestRawRequestsAreRefused/4 absolute address"),
	proved(5, "host names that resemble ours", "wsapi.TestEveryRouteRefuses/7.5 decimal", "wsapi.TestAllowedHosts"),
	proved(6, "forwarded headers of strangers", "wsapi.TestForwardedHeadersOfStrangers", "wsapi.TestEveryRouteRefuses/7.6"),
	proved(7, "WebSocket with a cookie from another site", "wsapi.TestUpgradeIsRefused/7.7"),
	proved(8, "WebSocket with a cookie and no origin", "wsapi.TestUpgradeIsRefused/7.8"),
	proved(9, "origin null", "wsapi.TestUpgradeIsRefused/7.9", "wsapi.TestEveryRouteRefuses/7.9", "wsapi.TestAgentsDoorTakesNothingFromPages"),
	proved(10, "origin of another port of this machine", "wsapi.TestUpgradeIsRefused/7.10", "wsapi.TestEveryRouteRefuses/7.10"),
	proved(11, "origin http of a site that is https", "wsapi.TestBehindAProxy", "wsapi.TestUpgradeIsRefused/7.11"),
	proved(12, "origins that begin or end like ours", "wsapi.TestUpgradeIsRefused/7.12", "wsapi.TestEveryRouteRefuses/7.12"),
	proved(13, "a form of another site, as text", "wsapi.TestEveryRouteRefuses/7.13 form", "wsapi.TestEveryRouteRefuses/7.13 cross-site", "wsapi.TestAgentsDoorTakesNothingFromPages"),
	proved(14, "a request from a sister site", "wsapi.TestEveryRouteRefuses/7.14"),
	proved(15, "preflights", "wsapi.TestEveryRouteRefuses/7.15"),
	proved(16, "changes by GET or HEAD", "wsapi.TestNothingChangesByLooking", "wsapi.TestEveryRouteRefuses/7.16"),
	proved(17, "headers that override the method", "wsapi.TestEveryRouteRefuses/7.17"),
	proved(18, "our pages in a frame", "wsapi.TestEveryHandlerHoldsTheEdge", "wsapi.TestEveryRouteRefuses"),
	proved(19, "a page that reaches for 0.0.0.0 and private networks", "wsapi.TestEveryRouteRefuses/7.5 any address"),
	proved(20, "a sign-in that somebody else prepared", "wsapi.TestSignInTakesNoIdOfTheBrowsers", "wsapi.TestSigningInAgainEndsTheFormerSignIn", "wsapi.TestChallengesAreUsedOnce"),

	// Who somebody is.
	proved(21, "every route without a credential", "wsapi.TestEveryRouteRefuses/7.21", "wsapi.TestEveryRouteAndCommandHasItsPolicy"),
	proved(22, "an upgrade without a credential", "wsapi.TestUpgradeIsRefused/7.22"),
	proved(23, "addresses that somebody forgot", "wsapi.TestPathsThatAreNotThere", "wsapi.TestEveryHandlerHoldsTheEdge", "cmd/sayso.TestDoorsOfAgents"),
	proved(24, "a server that nobody has set up", "wsapi.TestSetUp", "wsapi.TestSetUpThroughAProxy", "cmd/sayso.TestSetUpIsSaid", "account.TestCredentialsRunOut"),
	proved(25, "secrets that everybody knows", "account.TestFirstStartMakesOneAdmin", "account.TestKnownSecretsAreRefused"),
	proved(26, "signed tokens with another algorithm", "oidc.TestTokensThatAreRefused/no algorithm", "oidc.TestTokensThatAreRefused/signed with the secret"), // ours are random and found by their hash
	proved(27, "credentials that ended, or are of another server", "account.TestCredentialsRunOut", "account.TestSecretsOfOneKindAreNoneOfAnother", "wsapi.TestEveryRouteRefuses/7.27"),
	proved(28, "guessing", "wsapi.TestSignInIsLimited", "wsapi.TestGuessedTokensAreLimited", "account.TestGuessedSecretsWait", "wsapi.TestAnAccountIsLimitedFromManyAddresses", "wsapi.TestNoUserIsToldFromAnother", "wsapi.TestPasskeysThatAreRefused", "wsapi.TestSignInsAtAProviderThatAreRefused", "account.TestSignInLimiterHoldsAgainstAttemptsAtOnce", "account.TestBootstrapToken"),
	proved(29, "being on loopback as a credential", "wsapi.TestEveryRouteRefuses/7.29"),
	proved(30, "listening for everybody without encryption", "cmd/sayso.TestOpenWithoutEncryptionIsRefused", "wsapi.TestForwardedHeadersOfStrangers"),
	proved(31, "credentials in addresses", "wsapi.TestEveryRouteRefuses/7.31", "wsapi.TestLogKeepsNoSecretAndNoForgery"),
	proved(32, "a parameter that makes the web app connect elsewhere", "wsapi.TestEveryRouteRefuses", "frontend/src/account/SignIn.test.ts: is no place to go on to"),
	proved(33, "a proxy's word on who somebody is", "wsapi.TestEveryRouteRefuses/7.33"),
	proved(34, "sockets that outlive their sign-in", "wsapi.TestSignInEndsOnTheSocketOfItsBrowser", "wsapi.TestARightThatEndsEndsAtEveryDoor", "wsapi.TestSignInEndsOnOpenSockets", "wsapi.TestPasskeyEndsOnOpenSockets", "mcpapi.TestTokenOfADeadSessionIs401", "mcpapi.TestTokenThatEndsIsNoticedWithinASecond"),
	proved(35, "one set-up, two who claim it", "wsapi.TestSetUpByPasskey", "account.TestSetUp", "account.TestSignInLinkWorksOnce"),

	// What somebody may.
	proved(36, "a session of another project", "wsapi.TestARightThatEndsEndsAtEveryDoor", "wsapi.TestWhatIsNotYoursIsNotThere", "wsapi.TestMembershipReachesOpenTabs", "project.TestWhoMayDoWhat"),
	proved(37, "a viewer who answers", "wsapi.TestRolesOnTheSocket", "wsapi.TestEveryRouteRefuses/7.37", "wsapi.TestRightsAndRulesOfAnswers"),
	proved(38, "an admin who is none any more, on an old socket", "wsapi.TestARightThatEndsEndsAtEveryDoor", "wsapi.TestSignInEndsOnOpenSockets/demoted", "wsapi.TestDemotedBetweenTwoCommands", "wsapi.TestMembershipReachesOpenTabs"),
	proved(39, "a request of another session", "wsapi.TestRequestOfAnotherSessionIsNoneAtAll", "wsapi.TestWhatIsNotYoursIsNotThere"),
	proved(40, "an agent that reads in another session", "mcpapi.TestSessionsNeverSeeEachOther", "mcpapi.TestTicketsOfOthersAreNone"),
	proved(41, "an agent that answers", "wsapi.TestTokenOfAnAgentIsNobody"),
	proved(42, "Claude that approves itself", "cmd/sayso.TestClaudeOfAnotherUserCannotApproveItself", "cmd/sayso.TestTheServerReadsAsClaudesUser", "cmd/sayso.TestClaudeInASandboxCannotApproveItself", "wsapi.TestTokenOfAnAgentIsNobody", "shim.TestStrangersAreRefused", "store/sqlite.TestModesUnderAnyUmask"),
	proved(43, "fields that the sender has no business with", "wsapi.TestEveryRouteRefuses/7.43"),
	proved(44, "ids and secrets that can be guessed", "account.TestSecretsCannotBeGuessed", "wsapi.TestWhatIsNotYoursIsNotThere"),

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
	proved(55, "a form that changes under the cursor", "frontend/src/pending/arming.test.ts: a card just shown takes no decision", "wsapi.TestStaleAnswers/another input"),

	// Processes and files.
	proved(56, "folders outside", "orchestrator.TestStartRefusesWhatCannotWork", "workspace.TestResolve", "workspace.TestListNeverLeavesItsRoot", "shim.TestTheFolderIsTheOneThatWasLookedAt", "orchestrator.TestASessionOutsideOfTheRootsIsNotGoneOnWith"),
	proved(57, "values that are flags", "claude.TestArgsRefuseWhatCouldBeAFlag"),
	proved(58, "a prompt that is a flag", "claude.TestArgs"),
	proved(59, "variables from outside", "claude.TestEnviron", "cmd/sayso.TestWhatTheServerGivesToClaude", "wsapi.TestEveryRouteRefuses/7.43"),
	proved(60, "settings, hooks and servers in a repository", "cmd/sayso.TestNothingOfAHostileRepositoryRunsBeforeItIsTrusted", "orchestrator.TestAFolderIsTrustedBeforeTheFirstRun", "orchestrator.TestSettingsThatChangeBeforeTheExec", "orchestrator.TestNothingGoesOnByItselfInAChangedFolder", "claude/folder.TestEverythingThatTheCLITakes", "wsapi.TestAFolderThatNobodyTrusts"),
	proved(61, "resuming a session of another project", "wsapi.TestWhatIsNotYoursIsNotThere"),
	proved(62, "files that others can read, or have put there", "store/sqlite.TestModesUnderAnyUmask", "shim.TestModesOfFiles", "shim.TestStartRefusesAFolderThatIsThere"),
	proved(63, "another user at the socket of a shim", "shim.TestStrangersAreRefused"),
	proved(64, "our secrets in Claude's environment and files", "cmd/sayso.TestWhatTheServerGivesToClaude", "shim.TestWhatTheCLIGets", "claude.TestChildGetsNothingElse", "claude.TestEnviron"),
	proved(65, "paths and scripts in attachments", "wsapi.TestAttachmentsAreServedInert", "wsapi.TestAttachmentsThatAreRefused", "attachment.TestKeep"),

	// Agents.
	{number: 66, what: "the MCP session of another", cannot: "The door keeps no MCP sessions; each call proves itself by its token."},
	proved(67, "an MCP session id alone", "mcpapi.TestTokenOfADeadSessionIs401/67."),
	proved(68, "a token for somebody else", "mcpapi.TestTokenOfADeadSessionIs401", "account.TestAgentTokens", "oidc.TestTokensThatAreRefused/another audience"),
	proved(69, "calls that break the protocol", "mcpapi.TestMalformedRequests"),
	{number: 70, what: "state that a client hands back", cannot: "The door hands out none; a ticket is looked up in the session of its token."},
	proved(71, "a flood of questions", "mcpapi.TestFlood", "mcpapi.TestFloodOutlivesTheServer"),
	proved(72, "questions that pretend", "mcpapi.TestHostileQuestions", "mcpapi.TestAskerIsNamed", "frontend/src/pending/hidden.test.ts: what cannot be seen is named where it stands"),
	proved(73, "results in the wrong session", "mcpapi.TestSessionsNeverSeeEachOther"),
	proved(74, "ids of odd types", "mcpapi.TestIDsComeBack"),

	// Load and parsing.
	proved(75, "slow headers and bodies", "cmd/sayso.TestSlowHeadersAreCutOff", "wsapi.TestNoBodyIsWaitedForLong", "wsapi.TestBodyThatNeverComes"),
	proved(76, "many idle connections", "cmd/sayso.TestConnectionsAreLimited"),
	proved(77, "frames that are too large, or none", "wsapi.TestMessagesThatEndTheConnection", "wsapi.TestFramesThatBreakTheProtocol", "wsapi.TestRawFramesThatAreRefused", "wsapi.TestPingFlood", "wsapi.TestAnnouncedMessagesKeepNobodyOut", "wsapi.TestLargeBodiesAreTakenInTurn"),
	proved(78, "JSON that is deep or says things twice", "wsapi.TestEveryRouteRefuses/7.78 deep", "wsapi.TestEveryRouteRefuses/7.78 repeated", "wsapi.TestAMillionFields"),
	proved(79, "large headers", "cmd/sayso.TestRawRequestsAreRefused/79"),
	proved(80, "forged lines in the log", "wsapi.TestLogKeepsNoSecretAndNoForgery"),
	proved(81, "secrets in logs and figures", "wsapi.TestLogKeepsNoSecretAndNoForgery", "shim.TestWhatTheCLIGets"),
	proved(82, "figures and profiles for strangers", "wsapi.TestEveryRouteRefuses/7.82 figures for a viewer", "wsapi.TestEveryRouteRefuses/7.82 figures for a member", "wsapi.TestEveryRouteRefuses/7.21", "wsapi.TestPathsThatAreNotThere"),
	proved(83, "text that is slow to show", "frontend/src/ui/effort.test.ts: a megabyte of markdown takes bounded effort", "frontend/src/ui/effort.test.ts: twice the text takes about twice the steps",
		"frontend/src/ui/effort.test.ts: a megabyte is few elements", "review.TestBounds"),
	proved(84, "markup in what Claude says", "frontend/src/ui/markdown.test.ts: raw HTML is text", "frontend/src/ui/markdown.test.ts: links lead to the web only"),
	proved(85, "being led elsewhere after signing in", "frontend/src/account/SignIn.test.ts: is no place to go on to"),
	{number: 86, what: "weaknesses in what we build on", proofs: []string{"cmd/sayso.TestReleaseCanBeVerified"},
		open: "govulncheck was seen to find a weakness in a database made up for it and none in an empty one; the real one, and npm's, did not answer where this was built. No release was made yet, so there is no key of ours to verify one with."},
	proved(87, "a changed audit trail", "cmd/sayso.TestAuditTrail"),
	{number: 88, what: "paths of backups", cannot: "There is no call that makes one."},
	{number: 89, what: "telling by the time it takes", proofs: []string{"wsapi.TestNoUserIsToldFromAnother"}, cannot: "Secrets are found by hash and compared in constant time; no test measures time."},
	proved(90, "two lengths of one request", "cmd/sayso.TestRawRequestsAreRefused/90 two lengths", "cmd/sayso.TestOneRequestIsNeverTwo", "cmd/sayso.TestBehindARealProxy"),
	proved(91, "addresses that lead the server inside", "alert.TestAddressesInside", "wsapi.TestAlertsThatCannotBe"),
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
		if a.number <= mustHold && a.open != "" {
			t.Errorf("attack %d is open: %s", a.number, a.open)
		}
		for _, proof := range a.proofs {
			if file, name, web := strings.Cut(proof, ": "); web {
				text, err := os.ReadFile(filepath.FromSlash(file))
				if err != nil || !strings.Contains(string(text), name) {
					t.Errorf("attack %d: there is no test %q (%v)", a.number, proof, err)
				}
				continue
			}
			dot := strings.LastIndex(strings.SplitN(proof, "/7.", 2)[0], ".Test")
			if dot < 0 {
				t.Errorf("attack %d: %q is no test", a.number, proof)
				continue
			}
			name, part, _ := strings.Cut(proof[dot+1:], "/")
			texts, ok := proofs[proof[:dot]+"."+name]
			if !ok || !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) }) {
				t.Errorf("attack %d: there is no test %q", a.number, proof)
			}
		}
	}
	if len(attackList) != 91 {
		t.Errorf("%d attacks, want 91", len(attackList))
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
				all[path.Dir(filepath.ToSlash(file))+"."+f.Name.Name] = texts
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
