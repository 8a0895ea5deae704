import type { Plugin } from 'vite'

/**
 * Names chunks in index.html, so that they are fetched beside the entry and not
 * after it has run: those of the routes, and with less haste what they show soon
 * after. Scripts only: a style that a page does not use at once is something
 * browsers complain of.
 */
export function preload(routes: readonly string[], soon: readonly string[]): Plugin {
  return {
    name: 'sayso-preload',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        const chunks = Object.values(bundle ?? {}).flatMap((c) => (c.type === 'chunk' ? [c] : []))
        const found = new Map<string, 'high' | 'low'>()
        const visit = (file: string, haste: 'high' | 'low') => {
          if (found.has(file) || html.includes(file)) return
          found.set(file, haste)
          chunks.find((c) => c.fileName === file)?.imports.forEach((next) => visit(next, haste))
        }
        const name = (modules: readonly string[], haste: 'high' | 'low') => {
          for (const module of modules) {
            const chunk = chunks.find((c) => c.facadeModuleId?.endsWith(module))
            if (!chunk) throw new Error(`preload: ${module} has no chunk of its own`)
            visit(chunk.fileName, haste)
          }
        }
        name(routes, 'high')
        name(soon, 'low')
        return [...found].map(([file, fetchpriority]) =>
          ({ tag: 'link', attrs: { rel: 'modulepreload', crossorigin: true, href: '/' + file, fetchpriority }, injectTo: 'head' as const }))
      },
    },
  }
}
