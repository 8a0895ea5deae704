// Drives a server that something else started: cmd/sayso.TestFreshDebian, with SAYSO_FRESH_LINK.
import { defineConfig } from '@playwright/test'

import { base } from './playwright.config.ts'

export default defineConfig({
  testDir: 'fresh',
  outputDir: 'test-results',
  timeout: 600_000,
  expect: { timeout: 60_000 },
  workers: 1,
  reporter: 'list',
  use: { ...base, screenshot: 'only-on-failure', contextOptions: { reducedMotion: 'reduce' } },
})
