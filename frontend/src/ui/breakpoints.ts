/**
 * The window sizes at which the layout changes. Styles use them as custom media queries, `@media (--narrow)`,
 * which the build replaces. What depends on the width of a component uses a container query of that
 * component.
 */
export const BREAKPOINTS = {
  /** A phone in either orientation: either the list or the open page. */
  narrow: '((max-width: 767px) or (max-height: 479px))',
  /** The list of sessions starts collapsed. */
  compact: '(max-width: 1099px)',
  /** No space for a panel beside a session, or for a list beside the selected item. */
  single: '(max-width: 1023px)',
  /** No height for a transcript above a card. */
  low: '(max-height: 699px)',
  /** A desktop at 200 % zoom, or a small phone: a card keeps its title, two lines and its buttons. */
  short: '(max-height: 568px)',
  /** A phone in landscape: the subject of a card, and its buttons beside it. */
  landscape: '(max-height: 479px) and (min-width: 560px)',
  /** A desktop at 400 % zoom: the page scrolls as a whole. */
  shortest: '(max-height: 380px)',
} as const
