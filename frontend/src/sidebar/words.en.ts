export const words = {
  pinned: 'Pinned',
  noFolder: 'No folder',
  none: 'No sessions yet',
  nonViewer: 'Sessions that you can see appear here.',
  offline: 'Offline. Sessions appear when you reconnect.',
  actions: (title: string) => `Actions for ${title}`,
  newTab: 'Open in new tab',
  titleField: 'Session title',
  titleMissing: 'Enter a title.',
}
