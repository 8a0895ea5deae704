// Measures the web app in Chromium: `make bench`.
import { defineConfig } from '@playwright/test'

import type { ServerOptions } from './fixtures.ts'
import { claude } from './machine.ts'
import { base } from './playwright.config.ts'

export default defineConfig<object, ServerOptions>({
  testDir: 'bench',
  testMatch: '*.bench.ts',
  outputDir: 'test-results',
  timeout: 180_000,
  workers: 1,
  reporter: './bench/reporter.ts',
  use: base,
  projects: [{ name: 'figures', use: { claudePath: claude('2.1.329', 'SAYSO_TEST_CLAUDE_NEW') } }],
})
