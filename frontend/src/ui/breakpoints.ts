/**
 * The sizes of a window at which the layout changes. Styles name them as custom media
 * queries, `@media (--narrow)`, which the build replaces; what depends on the width of a
 * component and not on the window's is a container query of that component.
 */
export const BREAKPOINTS = {
  /** A phone: either the list or what is open. */
  narrow: '(max-width: 767px)',
  /** The list of sessions begins collapsed. */
  compact: '(max-width: 1099px)',
  /** No room for a panel beside a session, or for a list beside what is chosen in it. */
  single: '(max-width: 1023px)',
  /** A desktop at 200 %, or a phone on its side. */
  short: '(max-height: 480px)',
  /** A desktop at 400 %: the page scrolls as a whole. */
  shortest: '(max-height: 380px)',
} as const
