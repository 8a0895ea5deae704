export const words = {
  done: 'Done',
  open: 'Not done',
  source: 'Source',
  diagram: (source: string) => `Diagram. Its source: ${source}`,
  failed: 'Not drawn: its syntax is unknown or not supported.',
  slow: 'Not drawn: it takes too long to draw.',
  long: 'Not drawn: it is too large.',
}
