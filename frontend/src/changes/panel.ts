import { ref, shallowRef } from 'vue'
import { useStored } from '@/browser/useStored'

export type Tab = 'changes' | 'files' | 'tasks' | 'tools' | 'usage'

/** The open tab of the panel beside a session; null while it is closed. */
export const tab = ref<Tab | null>(null)
/** The file that the Files tab shows, relative to the session's folder; '' for none. */
export const openedFile = ref('')

/** Bounds of the panel's width, in pixels. */
export const MIN_WIDTH = 400
export const MAX_WIDTH = 800
const DEFAULT_WIDTH = 584

export const clampWidth = (width: number): number => Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)))

/** The width that the person gave the panel, stored in the browser. */
export const panelWidth = useStored('sayso:panel', DEFAULT_WIDTH, (text) => {
  const width = Number(text)
  return Number.isFinite(width) ? clampWidth(width) : undefined
})

/** The line of a file to show, from 1; a new object for each request. */
export const openedLine = shallowRef({ path: '', line: 0 })

/** openFile shows a file in the Files tab, from a line on, or 0 for none. */
export function openFile(path: string, line = 0): void {
  openedFile.value = path
  openedLine.value = { path, line }
  tab.value = 'files'
}
