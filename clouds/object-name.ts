import * as z from "zod";

/** The name of a Kubernetes object in a configuration. */
export const ObjectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "the name of an object of Kubernetes");
