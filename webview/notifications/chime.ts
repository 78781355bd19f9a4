/** The optional sound: two short tones, made here, so that nothing is loaded. */

const TONES_HZ = [659, 880];
const TONE_S = 0.14;
const LOUDNESS = 0.08;

let context: AudioContext | undefined;

/** Plays it. A browser may refuse until the person has used the page; nothing happens then. */
export async function chime(): Promise<void> {
  context ??= new AudioContext();
  // It never settles where the browser waits for a gesture.
  if (context.state === "suspended") void context.resume();
  const begin = context.currentTime;
  for (const [index, frequency] of TONES_HZ.entries()) {
    const at = begin + index * TONE_S;
    const tone = new OscillatorNode(context, { frequency, type: "sine" });
    const gain = new GainNode(context, { gain: 0 });
    gain.gain.setValueAtTime(0, at);
    gain.gain.linearRampToValueAtTime(LOUDNESS, at + 0.01);
    gain.gain.exponentialRampToValueAtTime(0.0001, at + TONE_S * 2);
    tone.connect(gain).connect(context.destination);
    tone.start(at);
    tone.stop(at + TONE_S * 2);
  }
}
