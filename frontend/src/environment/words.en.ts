// The texts of the banner that is shown while sessions cannot run.
export const words = {
  label: 'Claude Code setup',
  title: 'Claude Code isn’t set up',
  details: 'Details',
  hide: 'Hide for now',
  noCLI:
    'Claude Code was not found on the server. Install it there, or start sayso with --claude and the path to the CLI.',
  notSignedIn:
    'Claude Code is not signed in on the server. Run claude there and sign in, or set ANTHROPIC_API_KEY and restart sayso.',
  demo: 'Try the demo session',
  check: 'Check again',
}
