import tsx from 'shiki/langs/tsx.mjs'

// Shiki has the same rules three times, 175 kB each: as JavaScript, JSX and TSX. Only their names
// differ, so the first two are made from the third. vite.config.ts gives them to the grammars that
// embed JavaScript, such as HTML.
const rules = tsx.at(-1)!

export default [
  { ...rules, name: 'javascript', scopeName: 'source.js' },
  { ...rules, name: 'jsx', scopeName: 'source.js.jsx' },
]
