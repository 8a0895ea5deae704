import type { Component } from 'vue'
import type { Role } from '@/wire/messages.gen'
import { words } from './words'

export interface Page {
  /** The last part of its address: /admin/name. */
  name: string
  title: string
  /** The lowest role that may see it. Each of viewer, member and admin includes the ones before. */
  role: Role
  load: () => Promise<{ default: Component }>
}

// The pages of the admin area: a component that is loaded when opened, and a title in words.en.ts and
// words.de.ts.
export const PAGES: readonly Page[] = [
  {
    name: 'processes',
    get title() {
      return words.pages.processes
    },
    role: 'admin',
    load: () => import('./Processes.vue'),
  },
  {
    name: 'machines',
    get title() {
      return words.pages.machines
    },
    role: 'admin',
    load: () => import('./Machines.vue'),
  },
  {
    name: 'people',
    get title() {
      return words.pages.people
    },
    role: 'admin',
    load: () => import('./People.vue'),
  },
  {
    name: 'tokens',
    get title() {
      return words.pages.tokens
    },
    role: 'viewer',
    load: () => import('./Tokens.vue'),
  },
  {
    name: 'projects',
    get title() {
      return words.pages.projects
    },
    role: 'viewer',
    load: () => import('./Projects.vue'),
  },
  {
    name: 'grants',
    get title() {
      return words.pages.grants
    },
    role: 'member',
    load: () => import('./Grants.vue'),
  },
  {
    name: 'folders',
    get title() {
      return words.pages.folders
    },
    role: 'admin',
    load: () => import('./Folders.vue'),
  },
  {
    name: 'audit',
    get title() {
      return words.pages.audit
    },
    role: 'admin',
    load: () => import('./Audit.vue'),
  },
  {
    name: 'storage',
    get title() {
      return words.pages.storage
    },
    role: 'admin',
    load: () => import('./Storage.vue'),
  },
  {
    name: 'settings',
    get title() {
      return words.pages.settings
    },
    role: 'admin',
    load: () => import('./Settings.vue'),
  },
]
