import { fileURLToPath } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'
import { compress } from './build/compress.ts'
import { preload } from './build/preload.ts'

const server = process.env['SAYSO_DEV_SERVER'] ?? 'http://127.0.0.1:8787'

export default defineConfig({
  plugins: [vue(), preload(['/src/session/SessionView.vue'], ['/src/pending/cards.ts']), compress()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  define: {
    __VUE_OPTIONS_API__: 'false',
    __VUE_PROD_DEVTOOLS__: 'false',
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
  },
  build: {
    target: ['chrome123', 'firefox128', 'safari17.5'],
    // The policy script-src 'self' leaves no room for an inlined polyfill, and
    // img-src allows data: only for what a person attaches.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: true,
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  server: {
    host: '127.0.0.1',
    proxy: { '/api': server, '/ws': { target: server, ws: true } },
  },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.ts', 'build/**/*.test.ts'],
    setupFiles: ['src/testsetup.ts'],
    restoreMocks: true,
  },
})
