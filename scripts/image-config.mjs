// Reads contrib/container/Containerfile for scripts/image, which builds the image without a daemon.
//
//   node image-config.mjs CONTAINERFILE packages                     the Debian packages, a line each
//   node image-config.mjs CONTAINERFILE config ARCH VERSION EPOCH LAYER...   the configuration (OCI)
import { readFileSync } from 'node:fs'

const [file, what, arch, version, epoch, ...layers] = process.argv.slice(2)
const instructions = readFileSync(file, 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => {
    const [, name, rest] = line.match(/^(\w+)\s+(.*)$/) ?? []
    return { name, rest }
  })
const all = (name) => instructions.filter((i) => i.name === name).map((i) => i.rest)
const [one, list] = [(name) => all(name)[0], (name) => JSON.parse(all(name)[0])]
const pairs = (name) =>
  all(name).map((text) => {
    const [, key, value] = text.match(/^([\w.]+)="(.*)"$/) ?? []
    if (key === undefined) throw new Error(`${file}: ${name} ${text}: write ${name} KEY="VALUE"`)
    return [key, value]
  })
const known = 'FROM RUN COPY LABEL ENV USER WORKDIR VOLUME EXPOSE HEALTHCHECK ENTRYPOINT CMD'.split(' ')
for (const { name } of instructions) if (!known.includes(name)) throw new Error(`${file}: scripts/image does not know ${name}`)

if (what === 'packages') {
  const [, names] = one('RUN').match(/--no-install-recommends\s+(.*?)\s*&&/)
  console.log(names.split(/\s+/).join('\n'))
} else {
  const created = new Date(epoch * 1000).toISOString().replace('.000', '')
  const [, options, test] = one('HEALTHCHECK').match(/^(.*?)\s*CMD (\[.*\])$/)
  const seconds = (name) => Number(options.match(new RegExp(`--${name}=(\\d+)s`))[1]) * 1e9
  console.log(
    JSON.stringify({
      created,
      architecture: arch,
      os: 'linux',
      config: {
        User: one('USER'),
        ExposedPorts: { [`${one('EXPOSE')}/tcp`]: {} },
        Env: pairs('ENV').map(([key, value]) => `${key}=${value}`),
        Entrypoint: list('ENTRYPOINT'),
        Cmd: list('CMD'),
        Volumes: Object.fromEntries(list('VOLUME').map((path) => [path, {}])),
        WorkingDir: one('WORKDIR'),
        Labels: { ...Object.fromEntries(pairs('LABEL')), 'org.opencontainers.image.version': version },
        // Not part of the OCI format; Docker reads it.
        Healthcheck: {
          Test: ['CMD', ...JSON.parse(test)],
          Interval: seconds('interval'),
          Timeout: seconds('timeout'),
          StartPeriod: seconds('start-period'),
          Retries: Number(options.match(/--retries=(\d+)/)[1]),
        },
      },
      rootfs: { type: 'layers', diff_ids: layers },
      history: layers.map((_, i) => ({ created, created_by: ['packages of Debian', 'sayso', 'folders of its user'][i] })),
    }),
  )
}
