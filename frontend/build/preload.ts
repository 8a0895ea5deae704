import type { Plugin } from 'vite'

/**
 * Names chunks in index.html, so that they are fetched beside the entry and not
 * after it has run: those of the first route and what is beside it, and with less haste
 * what comes soon after. So are the styles of the route and of the first that comes
 * after, which it would wait for once more; other styles are not: browsers complain of one that a
 * page does not use at once, and one that is used stands in the way of the first paint.
 * The fonts of the first screen are fetched as early, by the names of their files.
 */
export function preload(routes: readonly string[], soon: readonly string[], fonts: readonly string[]): Plugin {
  return {
    name: 'sayso-preload',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        const chunks = Object.values(bundle ?? {}).flatMap((c) => (c.type === 'chunk' ? [c] : []))
        const found = new Map<string, 'high' | 'low'>()
        const styles = new Set<string>()
        const visit = (file: string, haste: 'high' | 'low', styled: boolean) => {
          if (found.has(file) || html.includes(file)) return
          const chunk = chunks.find((c) => c.fileName === file)
          chunk?.imports.forEach((next) => visit(next, haste, styled))
          found.set(file, haste)
          if (styled) chunk?.viteMetadata?.importedCss.forEach((style) => styles.add(style))
        }
        const name = (names: readonly string[], haste: 'high' | 'low', styled: number) => {
          for (const [i, name] of names.entries()) {
            const [chunk, ...more] = chunks.filter((c) => c.name === name)
            if (!chunk || more.length > 0) throw new Error(`preload: one chunk is to be called ${name}`)
            visit(chunk.fileName, haste, i < styled)
          }
        }
        name(routes, 'high', 1)
        name(soon, 'low', 1)
        const files = fonts.map((font) => {
          const file = Object.keys(bundle ?? {}).find((name) => name.startsWith(`assets/${font}-`))
          if (!file) throw new Error(`preload: no font is called ${font}`)
          return file
        })
        return [
          ...files.map((file) => ({
            tag: 'link',
            attrs: { rel: 'preload', as: 'font', type: 'font/woff2', crossorigin: true, href: '/' + file },
            injectTo: 'head' as const,
          })),
          ...[...styles].map((file) => ({
            tag: 'link',
            attrs: { rel: 'stylesheet', crossorigin: true, href: '/' + file },
            injectTo: 'head' as const,
          })),
          ...[...found].map(([file, fetchpriority]) => ({
            tag: 'link',
            attrs: { rel: 'modulepreload', crossorigin: true, href: '/' + file, fetchpriority },
            injectTo: 'head' as const,
          })),
        ]
      },
    },
  }
}
