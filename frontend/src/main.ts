import { createPinia } from 'pinia'
import { createApp } from 'vue'
import App from './App.vue'
import { speak } from './i18n'
import { keepEarly } from './keys/early'
import { drafts } from './pending/drafts'
import { router } from './router'
import './ui/appearance'
import './ui/tokens.css'
import { openEarly } from './connection/earlySocket'

keepEarly()
openEarly()
drafts.prune()
// If the messages cannot be loaded, the app stays in English.
void speak()
  .catch(() => null)
  .then(() => createApp(App).use(createPinia()).use(router).mount('#app'))
