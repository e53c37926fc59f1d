// A module of its own that is loaded on demand: a bundler leaves out what of the library nobody uses only where it sees what is.
export { KubeConfig } from "@kubernetes/client-node";
