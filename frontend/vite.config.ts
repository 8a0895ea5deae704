import { fileURLToPath } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'
import { together } from './build/chunks.ts'
import { compress } from './build/compress.ts'
import { customMedia } from './build/media.ts'
import { preload } from './build/preload.ts'
import { BREAKPOINTS } from './src/ui/breakpoints.ts'

// What is fetched together; see build/chunks.ts.
const chunks = [
  ['app', '/src/main.ts'],
  // What the list of sessions shares with a session is small, and both need it.
  ...['session/StateGlyph.vue', 'session/KindBadge.vue', 'pending/title.ts'].map(
    (file) => ['app', `/src/${file}`] as const,
  ),
  ['session', '/src/session/SessionView.vue'],
  ['sidebar', '/src/sidebar/SessionList.vue'],
  ['cards', '/src/pending/cards.ts'],
  ['questions', '/src/pending/questions.ts'],
  ['text', '/src/text/markdown.ts'],
  // What a session shows a moment after its transcript.
  ...[
    'shell/NoticeBar.vue',
    'session/WhileAway.vue',
    'environment/EnvironmentBanner.vue',
    'inbox/InboxLink.vue',
    'sidebar/PaletteKeys.vue',
    'shell/Keyboard.vue',
    'admin/AdminLink.vue',
    'session/SessionMenu.vue',
    'session/CatchUp.vue',
    'session/Attach.vue',
    'session/itemtext.ts',
    'pending/draftsync.ts',
  ].map((file) => ['secondary', `/src/${file}`] as const),
] as const

export default defineConfig({
  plugins: [
    customMedia(BREAKPOINTS),
    // Vue's list of HTML elements has no <search>.
    vue({ template: { compilerOptions: { isCustomElement: (tag) => tag === 'search' } } }),
    preload(
      ['session', 'sidebar'],
      ['cards', 'questions', 'text', 'secondary'],
      ['inter-regular', 'inter-medium', 'jetbrains-mono-regular'],
    ),
    compress(),
  ],
  resolve: {
    alias: [
      { find: '@', replacement: fileURLToPath(new URL('./src', import.meta.url)) },
      // As grammars name those that they embed; see the file.
      {
        find: /^\.\/(?:javascript|jsx)\.mjs$/,
        replacement: fileURLToPath(new URL('./src/text/javascript.ts', import.meta.url)),
      },
    ],
  },
  define: {
    __VUE_OPTIONS_API__: 'false',
    __VUE_PROD_DEVTOOLS__: 'false',
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
  },
  build: {
    target: ['chrome123', 'firefox128', 'safari17.5'],
    // The policy script-src 'self' leaves no room for an inlined polyfill, and
    // img-src allows data: only for what a person attaches.
    // What a lazy chunk imports is mostly here already; naming all of it beside each import() costs
    // the first screen 1 kB. Its styles have to be named, or nobody loads them.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_, files) => files.filter((file) => file.endsWith('.css')),
    },
    assetsInlineLimit: 0,
    manifest: true,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [{ debugName: 'together', name: together(chunks) }],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: { host: '127.0.0.1' }, // of make dev, behind the Go server
  test: {
    environment: 'jsdom',
    pool: 'threads', // a process for each file takes a quarter more CPU
    include: ['src/**/*.test.ts', 'build/**/*.test.ts'],
    isolate: false, // see src/testreset.ts
    setupFiles: ['src/testreset.ts', 'src/testsetup.ts'],
    sequence: { setupFiles: 'list' },
    restoreMocks: true,
    // Against what hangs only: a long test computes for 10 s, and on a slow, busy machine for many times that.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
