import type { Missed } from './missed'
import { words } from './words'

/** missedPhrases returns the counts as phrases, the most important first. */
export function missedPhrases(m: Omit<Missed, 'first'>): string[] {
  const w = words.missed
  return [
    ...(m.edits > 0 ? [w.edits(m.edits, m.files)] : []),
    ...(m.tests > 0 ? [w.tests(m.tests)] : []),
    ...(m.commands > 0 ? [w.commands(m.commands)] : []),
    ...(m.answered > 0 ? [w.answered(m.answered)] : []),
    ...(m.failed > 0 ? [w.failed(m.failed)] : []),
    ...(m.turns > 0 ? [w.turns(m.turns)] : []),
  ]
}
