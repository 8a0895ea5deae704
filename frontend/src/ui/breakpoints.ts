/**
 * The sizes of a window at which the layout changes. Styles name them as custom media
 * queries, `@media (--narrow)`, which the build replaces; what depends on the width of a
 * component and not on the window's is a container query of that component.
 */
export const BREAKPOINTS = {
  /** A phone, upright or on its side: either the list or what is open. */
  narrow: '((max-width: 767px) or (max-height: 479px))',
  /** The list of sessions begins collapsed. */
  compact: '(max-width: 1099px)',
  /** No room for a panel beside a session, or for a list beside what is chosen in it. */
  single: '(max-width: 1023px)',
  /** No height for a transcript above a card. */
  low: '(max-height: 699px)',
  /** A desktop at 200 %, or a small phone: a card keeps its title, two lines and its buttons. */
  short: '(max-height: 568px)',
  /** A phone on its side: what is decided, and its buttons beside it. */
  landscape: '(max-height: 479px) and (min-width: 560px)',
  /** A desktop at 400 %: the page scrolls as a whole. */
  shortest: '(max-height: 380px)',
} as const
