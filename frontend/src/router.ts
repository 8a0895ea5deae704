import { createRouter, createWebHistory } from 'vue-router'
import Shell from './shell/Shell.vue'

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/set-up', component: () => import('./account/SetUp.vue') },
    { path: '/sign-in/:oidc(oidc)?', component: () => import('./account/SignIn.vue') },
    { path: '/sessions/:id/plain', component: () => import('./session/PlainPage.vue'), props: true },
    {
      path: '/',
      component: Shell,
      children: [
        { path: '', component: () => import('./session/NoSession.vue') },
        { path: 'inbox/:request?', component: () => import('./inbox/Inbox.vue'), props: true },
        { path: 'terminal/:id', component: () => import('./session/TerminalView.vue'), props: true },
        { path: 'sessions/:id', component: () => import('./session/SessionView.vue'), props: true },
        { path: 'settings', component: () => import('./settings/Settings.vue') },
        { path: 'admin/:page?', component: () => import('./admin/Admin.vue'), props: true },
      ],
    },
    { path: '/:rest(.*)*', redirect: '/' },
  ],
})
