/** Suggestion is an entry of permission_suggestions, as the CLI sends it. */
export interface Suggestion {
  type: string
  rules?: { toolName: string; ruleContent?: string }[]
  behavior?: string
  mode?: string
  directories?: string[]
  destination?: string
}

export const SCOPES = ['session', 'localSettings', 'projectSettings', 'userSettings'] as const
export type Scope = (typeof SCOPES)[number]

/** Offer is a suggestion that can be shown in words. Others cannot be granted. */
export interface Offer {
  /** Position in permission_suggestions. */
  index: number
  suggestion: Suggestion
  kind: 'rules' | 'mode' | 'directories'
  /** The exact rules, such as "Bash(go test:*)". */
  rules: string[]
  /** Whether the person may choose its scope. */
  scoped: boolean
}

export function offers(suggestions: readonly unknown[]): Offer[] {
  return suggestions.flatMap((raw, index): Offer[] => {
    const s = raw as Suggestion
    if (typeof s !== 'object' || s === null) return []
    if (s.type === 'addRules' && s.behavior === 'allow' && Array.isArray(s.rules) && s.rules.length > 0) {
      return [{ index, suggestion: s, kind: 'rules', rules: s.rules.map(ruleText), scoped: true }]
    }
    if (s.type === 'setMode' && (s.mode === 'acceptEdits' || s.mode === 'default' || s.mode === 'plan')) {
      return [{ index, suggestion: s, kind: 'mode', rules: [s.mode], scoped: false }]
    }
    if (s.type === 'addDirectories' && Array.isArray(s.directories) && s.directories.length > 0) {
      return [{ index, suggestion: s, kind: 'directories', rules: s.directories.map(String), scoped: true }]
    }
    return []
  })
}

function ruleText(rule: { toolName: string; ruleContent?: string }): string {
  return rule.ruleContent ? `${rule.toolName}(${rule.ruleContent})` : rule.toolName
}

/**
 * granted returns what is sent for an offer. The CLI suggests writing to the settings of the
 * repository; sayso uses the scope that the person chose, by default the session.
 */
export function granted(offer: Offer, scope: Scope): Suggestion {
  return { ...offer.suggestion, destination: offer.scoped ? scope : 'session' }
}
