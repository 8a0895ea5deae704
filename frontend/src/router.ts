import { createRouter, createWebHistory } from 'vue-router'
import { t } from './i18n'
import Shell from './shell/Shell.vue'

declare module 'vue-router' {
  interface RouteMeta {
    /** The title of the document for a page without a session. */
    title?: () => string
  }
}

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/set-up', component: () => import('./account/SetUp.vue') },
    { path: '/welcome', component: () => import('./account/Welcome.vue') },
    { path: '/sign-in/:oidc(oidc)?', component: () => import('./account/SignIn.vue') },
    { path: '/sessions/:id/plain', component: () => import('./session/PlainPage.vue'), props: true },
    {
      path: '/',
      component: Shell,
      children: [
        { path: '', component: () => import('./session/NoSession.vue') },
        {
          path: 'inbox/:request?',
          component: () => import('./inbox/Inbox.vue'),
          props: true,
          meta: { title: () => t.shell.inbox },
        },
        { path: 'terminal/:id', component: () => import('./session/TerminalView.vue'), props: true },
        { path: 'sessions/:id', component: () => import('./session/SessionView.vue'), props: true },
        { path: 'account', component: () => import('./account/Account.vue'), meta: { title: () => t.shell.account } },
        {
          path: 'settings',
          component: () => import('./settings/Settings.vue'),
          meta: { title: () => t.shell.settings },
        },
        { path: 'phone', component: () => import('./phone/Phone.vue'), meta: { title: () => t.shell.phone } },
        { path: 'share', component: () => import('./phone/Share.vue') },
        {
          path: 'admin/:page?',
          component: () => import('./admin/Admin.vue'),
          props: true,
          meta: { title: () => t.shell.admin },
        },
      ],
    },
    { path: '/:rest(.*)*', redirect: '/' },
  ],
})
