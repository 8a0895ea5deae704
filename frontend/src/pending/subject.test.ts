import { expect, test } from 'vitest'
import { request } from '@/testcards'
import { subjectOf } from './subject'

const bash = (command: string) => request('r', { tool_name: 'Bash', tool_input: { command } })

test('a command of one line is its own subject', () => {
  expect(subjectOf(bash('make test'), '/w')).toBe('make test')
})

test('a long or multi-line command ends in an ellipsis', () => {
  expect(subjectOf(bash('make\nmake test'), '/w')).toBe('make …')
  expect(subjectOf(bash('x'.repeat(301)), '/w')).toBe('x'.repeat(300) + ' …')
})

test('a plan is named by its first heading', () => {
  const plan = request('r', { tool_name: 'ExitPlanMode', tool_input: { plan: 'Words.\n\n## Let it slide ##\n' } })
  expect(subjectOf(plan, '/w')).toBe('Let it slide')
})

test('hidden characters in a subject are shown', () => {
  expect(subjectOf(bash('echo \u202etxt'), '/w')).not.toContain('\u202e')
})
