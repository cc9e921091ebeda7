//! Letters that look alike.

/// The small letter of ASCII that a letter of Cyrillic, Greek or another script looks like, or its capital does.
pub fn look_alike(c: char) -> Option<char> {
    Some(match c {
        'а' | 'А' | 'α' | 'Α' | 'ɑ' => 'a',
        'В' | 'Β' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'Ε' | 'ё' => 'e',
        'ɡ' | 'Ԍ' => 'g',
        'һ' | 'Н' | 'Η' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' => 'i',
        'ј' | 'Ј' => 'j',
        'К' | 'Κ' | 'κ' => 'k',
        'ӏ' => 'l',
        'М' | 'Μ' => 'm',
        'Ν' | 'ո' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ԛ' | 'Ԛ' => 'q',
        'ѕ' | 'Ѕ' => 's',
        'Т' | 'Τ' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'Ԝ' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'Ү' | 'γ' | 'Υ' => 'y',
        'Ζ' => 'z',
        '\u{ff21}'..='\u{ff3a}' => char::from_u32(u32::from(c) - 0xff21 + u32::from('a'))?,
        '\u{ff41}'..='\u{ff5a}' => char::from_u32(u32::from(c) - 0xff41 + u32::from('a'))?,
        _ => return None,
    })
}
