import * as z from "zod";

const amount = z.number().nonnegative();
const bytes = z.int().positive();

/** One row: something loaded in new processes, once a round. */
export const ColdStart = z.strictObject({
  name: z.string(),
  /** The size of all its files, minified; undefined if it is the bundle of another row. */
  minifiedBytes: bytes.optional(),
  /** The size of its deployed zip. */
  zipBytes: bytes.optional(),
  /** By round, milliseconds since the process started. */
  wallMs: z.array(amount),
  /** By round, milliseconds of CPU, user and system, of all threads. */
  cpuMs: z.array(amount),
});
export type ColdStart = z.output<typeof ColdStart>;

/** The content of bench/cold-start.json: each row was started once in every round, in this order. */
export const ColdStartResults = z.strictObject({
  startedAt: z.iso.datetime(),
  cpu: z.string(),
  cores: z.int().positive(),
  /** Node's version. */
  node: z.string(),
  /** The machine's load average over one minute, before the first round. */
  loadAverage: amount,
  starts: z.array(ColdStart),
});
export type ColdStartResults = z.output<typeof ColdStartResults>;

/** The names of the rows that others are compared with. */
export const EMPTY_HANDLER = "an empty handler";
export const ONE_CLIENT = "@aws-sdk/client-ec2 alone, bundled as functions are";
export const ONE_CLIENT_OF_MODULES = "@aws-sdk/client-ec2 alone, its ES modules";
export const ONE_CLIENT_BY_DEFAULT = "@aws-sdk/client-ec2 alone, by esbuild's defaults";
export const WHOLE_CLIENTS = "the clients of EC2, STS and Lambda whole, by esbuild's defaults";
