// What oxlint cannot see: Vue templates and their accessibility. Prettier decides the format.
import vue from 'eslint-plugin-vue'
import a11y from 'eslint-plugin-vuejs-accessibility'
import ts from 'typescript-eslint'

// The rules of flat/recommended about layout, which Prettier decides.
const layout = Object.fromEntries(
  Object.entries(vue.rules)
    .filter(([, rule]) => rule.meta.type === 'layout')
    .map(([name]) => [`vue/${name}`, 'off']),
)

export default [
  ...vue.configs['flat/recommended'],
  {
    files: ['src/**/*.vue'],
    languageOptions: { parserOptions: { parser: ts.parser, sourceType: 'module' } },
    plugins: { 'vuejs-accessibility': a11y },
    rules: {
      ...layout,
      // Components are imported by name, never registered: Button cannot be taken for an element.
      'vue/multi-word-component-names': 'off',
      ...a11y.configs['flat/recommended'].at(-1).rules,
      // Lists and cards listen to keys of the controls in them; what is clickable
      // without being a control is found by click-events-have-key-events.
      'vuejs-accessibility/no-static-element-interactions': 'off',
      'vuejs-accessibility/label-has-for': ['error', { required: { some: ['nesting', 'id'] } }],
    },
  },
]
