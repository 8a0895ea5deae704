import type { Component } from 'vue'
import type { ToolInput } from '../edit'
import Bash from './Bash.vue'
import Edit from './Edit.vue'
import Fetch from './Fetch.vue'
import { fits } from './fields'
import Notebook from './Notebook.vue'
import Write from './Write.vue'

const VIEWS: Record<string, Component> = { Bash, Write, Edit, MultiEdit: Edit, NotebookEdit: Notebook, WebFetch: Fetch }

/** viewOf returns the view that shows the input of a tool, and what it needs beside the input; null for raw JSON. */
export function viewOf(tool: string, input: ToolInput): { view: Component; props: { tool?: string } } | null {
  const view = Object.hasOwn(VIEWS, tool) ? VIEWS[tool] : undefined
  if (!view || (tool !== 'WebFetch' && !fits(tool, input))) return null
  return { view, props: view === Edit ? { tool } : {} }
}
