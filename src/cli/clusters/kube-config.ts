// A separate module that is loaded on demand: a bundler can drop unused parts of the library only if it sees
// the used ones.
export { KubeConfig } from "@kubernetes/client-node";
