import { defineAsyncComponent, nextTick, type Component } from 'vue'
import { tab } from '@/changes/panel'
import { rest } from '@/connection/rest'
import { errorMessage } from '@/connection/errorMessage'
import { uuid } from '@/connection/uuid'
import { t } from '@/i18n'
import { may } from '@/project/rights'
import type { SessionState } from '@/state/reducer'
import { openDialog, openDialogs } from '@/ui/dialogs'
import type { IconName } from '@/ui/Icon.vue'
import { showToast } from '@/ui/toasts'
import type { Action, Role } from '@/wire/messages.gen'
import ActionToast from './ActionToast.vue'
import { pin } from './bookmarks'
import { MODELS, MODES } from './modes'
import { pinnedAt } from './seen'
import { words } from './words'

const KillDialog = defineAsyncComponent(() => import('./KillDialog.vue'))
const RenameDialog = defineAsyncComponent(() => import('./RenameDialog.vue'))

/** Choice is one value of an action that has several. */
export interface Choice {
  readonly value: string
  readonly label: string
  /** The meaning of the value. */
  readonly description: string
  readonly current: boolean
  run(): void
}

/** SessionAction is something that a person may do with a session now. */
export interface SessionAction {
  readonly id:
    'review' | 'changes' | 'interrupt' | 'resume' | 'mode' | 'model' | 'rename' | 'fork' | 'pin' | 'archive' | 'kill'
  readonly icon: IconName
  readonly text: string
  /** It cannot be undone and asks for confirmation. */
  readonly danger?: boolean
  /** The values to choose from; a chosen value runs itself. */
  readonly choices?: readonly Choice[]
  run(): void
}

/** attempt runs a call and shows its error as a toast, for actions without another place for it. */
function attempt(call: () => Promise<unknown>): void {
  call().catch((err: unknown) => showToast('action', ActionToast, { text: errorMessage(err) }))
}

/** Opens a dialog about a session, which emits close. */
function ask(component: Component, session: SessionState): void {
  const props = { session, onClose: () => openDialogs.value.find((d) => d.props === props)?.close(null) }
  void openDialog(component, props)
}

/**
 * actionsOf returns what a person of a role may do with a session in its current state, in the order of a
 * menu. Approving and denying are not included: review opens the card, which guards both. go opens an address
 * of the app.
 */
export function actionsOf(
  s: SessionState,
  role: Role | undefined,
  go: (path: string) => Promise<unknown>,
): SessionAction[] {
  const mine = (right: Action) => role !== undefined && may(s, right, role)
  const id = s.session_id
  const runs = s.state !== 'dead' && !s.kind
  const pinned = pinnedAt(id) !== null
  const list: (SessionAction | false)[] = [
    s.pending_requests.length > 0 && {
      id: 'review',
      icon: 'right',
      text: words.actions.review,
      run: () => void go(`/inbox/${s.pending_requests[0]!.request_id}`),
    },
    !s.kind && {
      id: 'changes',
      icon: 'panel',
      text: words.actions.changes,
      run: () => void go(`/sessions/${id}`).then(() => nextTick(() => (tab.value = 'changes'))),
    },
    s.state === 'assistant_turn' &&
      !s.kind &&
      mine('tend') && {
        id: 'interrupt',
        icon: 'stop',
        text: t.session.interrupt,
        run: () => attempt(() => rest.interrupt(id)),
      },
    !runs &&
      !s.kind &&
      mine('run') && {
        id: 'resume',
        icon: 'play',
        text: t.session.resume,
        run: () => attempt(() => rest.resume(id)),
      },
    runs &&
      mine('tend') && {
        id: 'mode',
        icon: 'safe',
        text: words.actions.mode,
        choices: [...new Set<string>([...MODES, s.permission_mode])].filter(Boolean).map((value) => ({
          value,
          label: t.session.mode(value),
          description: words.modeDescription(value),
          current: value === s.permission_mode,
          run: () => attempt(() => rest.setPermissionMode(id, value)),
        })),
        run: () => {},
      },
    runs &&
      mine('run') && {
        id: 'model',
        icon: 'model',
        text: words.actions.model,
        choices: [...new Set<string>(['', ...MODELS, s.model])].map((value) => ({
          value,
          label: value || t.session.defaultModel,
          description: words.modelDescription(value),
          current: value === s.model,
          run: () => attempt(() => rest.setModel(id, value)),
        })),
        run: () => {},
      },
    mine('tend') && {
      id: 'rename',
      icon: 'edit',
      text: `${words.rename.open}…`,
      run: () => ask(RenameDialog, s),
    },
    !s.kind &&
      mine('start') && {
        id: 'fork',
        icon: 'fork',
        text: words.fork,
        run: () =>
          attempt(async () => {
            const made = await rest.fork(id, uuid())
            if (made.session_id) await go(`/sessions/${made.session_id}`)
          }),
      },
    {
      id: 'pin',
      icon: 'pin',
      text: pinned ? words.unpin : words.pin,
      run: () => attempt(() => pin(id, !pinned)),
    },
    mine('tend') && {
      id: 'archive',
      icon: 'archive',
      text: s.archived ? words.unarchive : words.archive,
      run: () => attempt(() => rest.change(id, { archived: !s.archived })),
    },
    runs &&
      mine('end') && {
        id: 'kill',
        icon: 'kill',
        text: `${t.session.kill}…`,
        danger: true,
        run: () => ask(KillDialog, s),
      },
  ]
  return list.filter((a) => a !== false)
}
